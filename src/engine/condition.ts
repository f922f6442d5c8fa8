/**
 * A named question about the configuration that decides whether a step takes part. Conditions
 * are objects and not bare functions so that a role can be checked for every combination of
 * answers, and so that a plan can say why a step is left out.
 */
export type Condition<Config> =
  | { readonly kind: 'ask'; readonly name: string; readonly ask: (config: Config) => boolean }
  | { readonly kind: 'not'; readonly of: Condition<Config>; readonly name: string }
  | { readonly kind: 'all'; readonly of: readonly Condition<Config>[] };

/** A question with a name that reads well after "only when": `the disk is to be cleaned`. */
export function condition<Config>(
  name: string,
  ask: (config: Config) => boolean,
): Condition<Config> {
  return { kind: 'ask', name, ask };
}

/** The opposite answer, with a name that reads well by itself: `a disk is written`. */
export const not = <Config>(of: Condition<Config>, name: string): Condition<Config> => ({
  kind: 'not',
  of,
  name,
});

/** Every one of several. */
export const all = <Config>(...of: readonly Condition<Config>[]): Condition<Config> => ({
  kind: 'all',
  of,
});

/** Decides a condition for a configuration; no condition always holds. */
export function isActive<Config>(of: Condition<Config> | undefined, config: Config): boolean {
  switch (of?.kind) {
    case undefined:
      return true;
    case 'ask':
      return of.ask(config);
    case 'not':
      return !isActive(of.of, config);
    case 'all':
      return of.of.every((part) => isActive(part, config));
  }
}

/** The named questions in a condition. */
export function questions<Config>(of: Condition<Config>): readonly string[] {
  switch (of.kind) {
    case 'ask':
      return [of.name];
    case 'not':
      return questions(of.of);
    case 'all':
      return of.of.flatMap((part) => questions(part));
  }
}

/** A condition as people read it. */
export function renderCondition<Config>(of: Condition<Config>): string {
  switch (of.kind) {
    case 'ask':
    case 'not':
      return of.name;
    case 'all':
      return of.of.map((part) => renderCondition(part)).join(', and ');
  }
}
