/** Major and minor version. */
export type Version = readonly [major: number, minor: number];

/** Whether the first version in a program's own words, such as `cargo 1.85.1 (…)`, is the needed one or newer. */
export function isAtLeast(words: string, needed: Version): boolean {
  const found = /(\d+)\.(\d+)/.exec(words);
  if (found === null) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}
