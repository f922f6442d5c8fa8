// The rules of a release: what the changelog says decides which version may follow (semver.org).

/** A release that cannot be made. The message says what is wrong, and what to do. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** What a release makes of the changelog. */
export interface Cut {
  readonly changelog: string;
  /** What is new for operators, without a heading of its own. */
  readonly notes: string;
}

const unreleased = '## Unreleased';
const headingOf = (version: string): string => `## [${version}]`;

/**
 * Gives what is unreleased the version and the date (`YYYY-MM-DD`), and leaves an empty section
 * above it.
 * @throws ReleaseError when there is nothing to release, or that version is there already
 */
export function cutChangelog(changelog: string, version: string, date: string): Cut {
  if (changelog.includes(`${headingOf(version)} `))
    throw new ReleaseError(`CHANGELOG.md has ${version} already; name a newer version`);
  const notes = sectionUnder(changelog, unreleased);
  if (!/^- /m.test(notes))
    throw new ReleaseError(
      `CHANGELOG.md has nothing under "${unreleased}"; there is nothing to release`,
    );
  const cut = `${unreleased}\n\n${headingOf(version)} - ${date}`;
  return { changelog: changelog.replace(/^## Unreleased$/m, cut), notes };
}

/** What is new in a version that was cut. @throws ReleaseError when it was not */
export const notesOf = (changelog: string, version: string): string =>
  sectionUnder(changelog, headingOf(version));

function sectionUnder(changelog: string, heading: string): string {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line === heading || line.startsWith(`${heading} `));
  if (start === -1) throw new ReleaseError(`CHANGELOG.md has no section "${heading}"`);
  const next = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  return lines
    .slice(start + 1, next === -1 ? undefined : next)
    .join('\n')
    .trim();
}

/** What a change of each of the three numbers of a version is called. */
const levels = ['major', 'minor', 'patch'] as const;

/**
 * Sections of the changelog that a patch may not have, by the place of the number that has to
 * change for them.
 */
const places = { Breaking: 0, Added: 1 } as const;

/**
 * Holds a version against the one before it and what is new: a section Breaking needs a major
 * version, Added a minor one, anything else a patch. Below 1.0.0 a minor version may break
 * something.
 * @throws ReleaseError
 */
export function checkVersion(from: string, to: string, notes: string): void {
  const [before, after] = [numbersOf(from), numbersOf(to)];
  const changed = ([0, 1, 2] as const).find((place) => after[place] !== before[place]);
  if (changed === undefined || Number(after[changed]) < Number(before[changed]))
    throw new ReleaseError(`${to} does not come after ${from}; name a newer version`);
  for (const [section, place] of Object.entries(places)) {
    const allowed = Math.max(place, before[0] === 0 ? 1 : 0) as 0 | 1;
    if (changed > allowed && new RegExp(`^### ${section}$`, 'm').test(notes))
      throw new ReleaseError(
        `${to} is a ${levels[changed]} version; CHANGELOG.md has ${section}, which needs a ${levels[allowed]} version`,
      );
  }
}

function numbersOf(version: string): readonly number[] {
  if (!/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(version))
    throw new ReleaseError(`${version} is no version; write three numbers, such as 1.0.0`);
  return version.split('.').map(Number);
}
