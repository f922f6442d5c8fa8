/**
 * A named question about the configuration that decides whether a step takes part. Conditions
 * are objects and not bare functions so that a role can be checked for every combination of
 * answers, and so that a plan can say why a step is skipped.
 */
export type Condition<Config> =
  | {
      readonly kind: 'ask';
      readonly name: string;
      readonly ask: (config: Config) => boolean;
      /** Why the answer is no, where that is not plain from the configuration. */
      readonly whyNot?: (config: Config) => string;
    }
  | { readonly kind: 'not'; readonly of: Condition<Config>; readonly name: string }
  | { readonly kind: 'all'; readonly of: readonly Condition<Config>[] };

/** A question with a name that reads well after "only when": `the disk is to be cleaned`. */
export function condition<Config>(
  name: string,
  ask: (config: Config) => boolean,
  whyNot?: (config: Config) => string,
): Condition<Config> {
  return { kind: 'ask', name, ask, ...(whyNot === undefined ? {} : { whyNot }) };
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

/** A condition as people read it, with the reason for an answer that is no. */
export function renderCondition<Config>(of: Condition<Config>, config: Config): string {
  switch (of.kind) {
    case 'ask': {
      const why = of.ask(config) ? undefined : of.whyNot?.(config);
      return why === undefined ? of.name : `${of.name} (${why})`;
    }
    case 'not':
      return of.name;
    case 'all':
      return of.of.map((part) => renderCondition(part, config)).join(', and ');
  }
}
