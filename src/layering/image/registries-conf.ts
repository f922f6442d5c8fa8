/**
 * Settings of registries for one build: those that hold already, and the one image of the base taken from the
 * staging registry. An entry for a single digest stands beside any entry for the repository, which the longest
 * prefix decides (containers-registries.conf(5)). The base keeps its name.
 */
export function registriesWithBase(
  settings: string,
  { base, staged }: { readonly base: string; readonly staged: string },
): string {
  const kept = isVersionOne(settings) || settings === '' ? '' : `${settings.trimEnd()}\n\n`;
  return [
    `${kept}[[registry]]`,
    `prefix = ${quoted(base)}`,
    `location = ${quoted(base)}`,
    '[[registry.mirror]]',
    `location = ${quoted(staged)}`,
    '',
  ].join('\n');
}

/** The first version of the format may not be mixed with the second. */
const isVersionOne = (settings: string): boolean => /^\s*\[registries\./m.test(settings);

/** A basic string of TOML; pull specs hold nothing that would need an escape but these. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '')}"`;
