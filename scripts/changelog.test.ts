import { describe, expect, it } from 'vitest';
import { checkVersion, cutChangelog, notesOf } from './changelog.ts';

const changelog = `# Changelog

How it is kept.

## Unreleased

### Added

- A thing,
  of two lines.

### Fixed

- Another.

## [0.1.0] - 2026-01-01

- The first.
`;

describe('cutChangelog', () => {
  const cut = cutChangelog(changelog, '1.0.0', '2026-11-25');

  it('gives what is unreleased its version, and leaves an empty section above it', () => {
    expect(cut.changelog).toBe(
      changelog.replace('## Unreleased\n', '## Unreleased\n\n## [1.0.0] - 2026-11-25\n'),
    );
  });

  it('gives the notes, the same that are found later', () => {
    expect(cut.notes).toBe('### Added\n\n- A thing,\n  of two lines.\n\n### Fixed\n\n- Another.');
    expect(notesOf(cut.changelog, '1.0.0')).toBe(cut.notes);
    expect(notesOf(cut.changelog, '0.1.0')).toBe('- The first.');
  });

  it.each<[string, string, string]>([
    ['nothing under "## Unreleased"', cut.changelog, '1.0.1'],
    ['has 0.1.0 already', changelog, '0.1.0'],
    ['no section "## Unreleased"', '# Changelog\n', '1.0.0'],
  ])('refuses: %s', (message, text, version) => {
    expect(() => cutChangelog(text, version, '2026-11-25')).toThrow(message);
  });

  it('finds no notes of a version that was not cut', () => {
    expect(() => notesOf(changelog, '1.0.0')).toThrow('no section "## [1.0.0]"');
  });
});

describe('checkVersion', () => {
  const added = '### Added\n\n- A.';
  const fixed = '### Fixed\n\n- A.';
  const breaking = '### Breaking\n\n- A.\n\n### Added\n\n- B.';

  it.each<[string, string, string]>([
    ['0.1.0', '1.0.0', added],
    ['0.1.0', '0.2.0', breaking],
    ['1.2.3', '1.2.4', fixed],
    ['1.2.3', '1.3.0', added],
    ['1.2.3', '2.0.0', breaking],
    ['1.2.3', '1.3.0', fixed],
    ['1.9.0', '1.10.0', added],
  ])('lets %s be followed by %s', (from, to, notes) => {
    expect(() => {
      checkVersion(from, to, notes);
    }).not.toThrow();
  });

  it.each([
    { from: '1.2.3', to: '1.2.3', notes: fixed, message: '1.2.3 does not come after 1.2.3' },
    { from: '1.10.0', to: '1.9.0', notes: fixed, message: '1.9.0 does not come after 1.10.0' },
    { from: '1.2.3', to: '1.2.4', notes: added, message: 'has Added, which needs a minor version' },
    {
      from: '1.2.3',
      to: '1.3.0',
      notes: breaking,
      message: 'has Breaking, which needs a major version',
    },
    {
      from: '0.1.0',
      to: '0.1.1',
      notes: breaking,
      message: 'has Breaking, which needs a minor version',
    },
    { from: '1.2.3', to: 'v2', notes: fixed, message: 'v2 is no version' },
    { from: '1.2.3', to: '2.0.0-rc.1', notes: fixed, message: '2.0.0-rc.1 is no version' },
    { from: '1.2.3', to: '02.0.0', notes: fixed, message: '02.0.0 is no version' },
  ])('$from is not followed by $to: $message', ({ from, to, notes, message }) => {
    expect(() => {
      checkVersion(from, to, notes);
    }).toThrow(message);
  });
});
