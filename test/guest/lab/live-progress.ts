/** What a console tells of an installation, by the pattern that a line has. */
const milestones: readonly (readonly [RegExp, (line: RegExpExecArray) => string | undefined])[] = [
  [/Linux version /, () => 'the live system starts'],
  [/Stage: files$/, () => 'Ignition writes the unit and its configuration'],
  [/: Starting bootwright\.service/, () => 'podman starts the agent'],
  [/ bootwright\[\d+\]: (\{.*\})$/, ([, json = '']) => titleIn(json)],
  [/ bootwright\[\d+\]: ((?:failed|why|next|logs): .*)$/, ([, text]) => text],
];

/**
 * The lines of a console that say how far an installation is, in words for people. A last line may
 * be cut.
 */
export const progressIn = (console: string): readonly string[] =>
  console
    .split('\n')
    .slice(0, -1)
    .flatMap((line) =>
      milestones.flatMap(([pattern, words]) => {
        const found = pattern.exec(line);
        return found === null ? [] : (words(found) ?? []);
      }),
    );

/** A line of the agent's log; one that the journal has cut is none. */
function titleIn(json: string): string | undefined {
  try {
    const { msg, title } = JSON.parse(json) as { readonly msg?: string; readonly title?: string };
    return msg === 'step started' ? title : undefined;
  } catch {
    return undefined;
  }
}
