/**
 * A named predicate on the configuration that decides whether a step takes part. It is an object
 * rather than a bare function so that a plan can say why a step is skipped.
 */
export interface Condition<Config> {
  readonly isMet: (config: Config) => boolean;
  /** Text after "only when": `the disk is to be cleaned`, with the reason if the answer is no. */
  readonly describe: (config: Config) => string;
}

/**
 * A named predicate.
 * @param whyNot the reason for the answer no, if the configuration does not make it plain
 */
export function condition<Config>(
  name: string,
  isMet: (config: Config) => boolean,
  whyNot?: (config: Config) => string,
): Condition<Config> {
  const describe = (config: Config): string =>
    whyNot === undefined || isMet(config) ? name : `${name} (${whyNot(config)})`;
  return { isMet, describe };
}

/** A condition that holds if all the given conditions hold. */
export const all = <Config>(...of: readonly Condition<Config>[]): Condition<Config> => ({
  isMet: (config) => of.every((one) => one.isMet(config)),
  describe: (config) => of.map((one) => one.describe(config)).join(', and '),
});

/** Evaluates a condition for a configuration; an undefined condition always holds. */
export const isActive = <Config>(of: Condition<Config> | undefined, config: Config): boolean =>
  of === undefined || of.isMet(config);
