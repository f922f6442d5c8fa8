/**
 * A named question about the configuration that decides whether a step takes part. It is an object
 * and not a bare function so that a plan can say why a step is skipped.
 */
export interface Condition<Config> {
  readonly isMet: (config: Config) => boolean;
  /** Reads well after "only when": `the disk is to be cleaned`, with the reason for a no. */
  readonly describe: (config: Config) => string;
}

/**
 * A question with its name.
 * @param whyNot why the answer is no, where that is not plain from the configuration
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

/** Every one of several. */
export const all = <Config>(...of: readonly Condition<Config>[]): Condition<Config> => ({
  isMet: (config) => of.every((one) => one.isMet(config)),
  describe: (config) => of.map((one) => one.describe(config)).join(', and '),
});

/** Decides a condition for a configuration; no condition always holds. */
export const isActive = <Config>(of: Condition<Config> | undefined, config: Config): boolean =>
  of === undefined || of.isMet(config);
