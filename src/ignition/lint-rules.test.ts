import { describe, expect, it } from 'vitest';
import { validationCases } from '../../test/ignition/cases/all.ts';
import { textOfCase } from '../../test/ignition/cases/case.ts';
import { lintCases } from '../../test/ignition/cases/lint.ts';
import { findingRules } from './finding.ts';
import { sectionsOf } from './lint-rules.ts';
import { lintConfig, parseConfig } from './parse.ts';

const findingsOf = (text: string) => lintConfig(text, parseConfig).findings;

describe('a config that is linted', () => {
  it.each(lintCases)('has the rules that it breaks: $name', (row) => {
    const found = findingsOf(textOfCase(row as Parameters<typeof textOfCase>[0]));
    expect(found.map(({ rule }) => rule).sort()).toEqual([...(row.rules ?? [])].sort());
  });

  it.each(validationCases.filter(({ code }) => code === undefined))(
    'has no more rules than an installation checks: $name',
    (row) => {
      const others = findingsOf(textOfCase(row)).filter(({ rule }) => !(rule in findingRules));
      expect(others).toEqual([]);
    },
  );

  it('is told the place, and warned where Ignition only warns', () => {
    const disks = [{ device: '/dev/sda', wipeTable: true, partitions: [{ number: 1, guid: 'x' }] }];
    const storage = { disks, filesystems: [{ device: '/dev/sda', format: 'xfs' }] };
    const config = JSON.stringify({ ignition: { version: '3.4.0' }, storage });
    expect(findingsOf(config)).toMatchObject([
      { rule: 'filesystem-on-partitions', severity: 'warning', path: 'storage.filesystems' },
      {
        ...{ rule: 'guid-malformed', severity: 'error' },
        path: 'storage.disks[0].partitions[0].guid',
        message: expect.stringMatching(/^storage.*\.guid must look like /) as string,
      },
    ]);
  });

  it('of a newer spec is only warned', () => {
    const units = { systemd: { units: [{ name: 'a' }] } };
    const found = findingsOf(JSON.stringify({ ignition: { version: '3.7.0' }, ...units }));
    expect(found.map(({ rule, severity }) => `${severity} ${rule}`)).toEqual([
      ...['warning newer-spec', 'warning unit-name'],
    ]);
  });
});

describe('the text of a unit', () => {
  it.each<[string, readonly string[] | undefined]>([
    ['', []],
    ['text before\n[A]\nb=c', ['A']],
    ['[A]\n[B]\nc=\n', ['B']],
    ['# [A\n; x\n[A]\n#b\nc=d', ['A']],
    ['# comment \\\n[A\n[B]\nc=d', ['B']],
    ['[A]\nb=c\\\nd\n[B]\ne=f', ['A', 'B']],
    ['[A]\n\u00a0b=c', ['A']],
    ['[A] \u2003\nb=c', ['A']],
    ['[A', undefined],
    ['[A] x\n', undefined],
    ['[A]\nb\n', undefined],
    ['[A]\nb\nc=d', undefined],
    ['[A]\nb', undefined],
  ])('%j has its sections', (text, sections) => {
    const found = sectionsOf(text);
    expect(found === undefined ? undefined : [...found]).toEqual(sections);
  });
});
