import { describe, expect, it } from 'vitest';
import { registriesNeedDrain } from './disruption.ts';

const search = 'unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]\n';
const registry = (location: string, more = '', ...mirrors: readonly string[]): string =>
  [
    `\n[[registry]]\n  prefix = ""\n  location = "${location}"\n${more}`,
    ...mirrors.map((mirror) => `\n  [[registry.mirror]]\n    ${mirror}\n`),
  ].join('');
const digestOnly = '  mirror-by-digest-only = true\n';
const at = (location: string, pull = ''): string =>
  `location = "${location}"${pull === '' ? '' : `\n    pull-from-mirror = "${pull}"`}`;
const before = `${search}short-name-mode = ""\n${registry('quay.io/a', digestOnly, at('m1'))}${registry('quay.io/b', '', at('m1', 'digest-only'))}`;

/** The file of before with one text in place of another. */
const changed = (from: string, to: string): string => {
  expect(before).toContain(from);
  return before.replace(from, () => to);
};

describe('another registries.conf', () => {
  it.each([
    [
      'a mirror by digest more',
      changed(at('m1'), `${at('m1')}\n  [[registry.mirror]]\n    ${at('m2')}`),
    ],
    [
      'a mirror that is by digest itself more',
      `${before}\n  [[registry.mirror]]\n    ${at('m2', 'digest-only')}\n`,
    ],
    ['a registry by digest more', `${before}${registry('quay.io/c', digestOnly, at('m1'))}`],
    ['a registry by digest without mirrors', `${before}${registry('quay.io/c', digestOnly)}`],
    [
      'a registry whose mirrors are by digest',
      `${before}${registry('quay.io/c', '', at('m1', 'digest-only'))}`,
    ],
    ['a registry to search behind the others', changed('"docker.io"]', '"docker.io", "x.io"]')],
    ['a comment', `# more\n${before}`],
    [
      'the setting moved to the mirror',
      changed(
        `${digestOnly}\n  [[registry.mirror]]\n    ${at('m1')}`,
        `\n  [[registry.mirror]]\n    ${at('m1', 'digest-only')}`,
      ),
    ],
  ])('spares the drain with %s', (_, wanted) => {
    expect(registriesNeedDrain(before, wanted)).toBe(false);
  });

  it.each([
    ['the same text: the node had drifted', before],
    ['a registry to search less', changed(', "docker.io"]', ']')],
    [
      'another order of what is searched',
      changed(
        '"registry.access.redhat.com", "docker.io"',
        '"docker.io", "registry.access.redhat.com"',
      ),
    ],
    ['a registry less', `${search}${registry('quay.io/a', digestOnly, at('m1'))}`],
    ['a mirror less', changed(`\n  [[registry.mirror]]\n    ${at('m1')}\n`, '')],
    ['another mirror', changed(at('m1'), at('m2'))],
    ['a mirror by tags too', `${before}\n  [[registry.mirror]]\n    ${at('m2')}\n`],
    ['a mirror by tags alone', changed('"digest-only"', '"tag-only"')],
    ['tags for what was by digest', changed(digestOnly, '')],
    ['a registry by tags more', `${before}${registry('quay.io/c', '', at('m1'))}`],
    ['a registry without mirrors more', `${before}${registry('quay.io/c')}`],
    ['a registry that is blocked', changed(digestOnly, `${digestOnly}  blocked = true\n`)],
    ['a registry without TLS', changed(digestOnly, `${digestOnly}  insecure = true\n`)],
    ['another prefix', changed('prefix = ""', 'prefix = "quay.io/x"')],
    ['more of TOML than is read', `${before}[aliases]\n`],
    ['a list over lines', `${before}x = [\n]\n`],
    ['one registry twice', `${before}${registry('quay.io/a', digestOnly)}`],
    ['nothing', ''],
  ])('drains with %s', (_, wanted) => {
    expect(registriesNeedDrain(before, wanted)).toBe(true);
  });
});
