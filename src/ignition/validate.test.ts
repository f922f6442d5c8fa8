import { describe, expect, it } from 'vitest';

import { AgentError } from '../model/failure.ts';
import { findingRules, type FindingRule } from './finding.ts';
import { parseConfig } from './parse.ts';
import { validationCases } from '../../test/ignition/cases/all.ts';
import { textOfCase, type ValidationCase } from '../../test/ignition/cases/case.ts';
import { simplifyPath, validateConfig } from './validate.ts';

interface Verdict {
  readonly rules: readonly string[];
  readonly code?: string;
}

function verify(text: string): Verdict {
  try {
    const { config, warnings } = parseConfig(text);
    const rules = [...warnings, ...validateConfig(config)].map(({ rule }) => rule);
    return { rules: rules.sort() };
  } catch (failure) {
    if (!(failure instanceof AgentError)) throw failure;
    if (failure.code !== 'ignition.invalid') return { rules: [], code: failure.code };
    return { rules: [String(failure.context['rule'])] };
  }
}

function expected({ code, rules = [] }: ValidationCase): Verdict {
  return { rules: [...rules].sort(), ...(code === undefined ? {} : { code }) };
}

describe('a config', () => {
  it.each(validationCases)('with this is judged rightly: $name', (row) => {
    expect(verify(textOfCase(row))).toEqual(expected(row));
  });

  it('has a row for every rule', () => {
    const covered = new Set(validationCases.flatMap(({ rules = [] }) => rules));
    // Bytes cannot be given as text: that one has its own test.
    covered.add('invalid-utf8');
    // Ignition refuses a spec that is newer than itself; what we say of one has its own test too.
    covered.add('newer-spec');
    const rules = Object.keys(findingRules) as FindingRule[];
    expect(rules.filter((rule) => !covered.has(rule))).toEqual([]);
  });

  it('is told where it breaks a rule', () => {
    const { config } = parseConfig(
      '{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/a"},{"path":"b"}]}}',
    );
    expect(validateConfig(config)).toMatchObject([
      { rule: 'path-relative', severity: 'error', path: 'storage.files[1].path' },
    ]);
  });

  it('is passed on with what only Ignition has rules for', () => {
    const config = {
      systemd: { units: [{ name: 'a', contents: '[Unit' }] },
      storage: {
        disks: [{ device: 'sda', partitions: [{ number: 1 }, { number: 2, label: 'a:b' }] }],
        filesystems: [{ device: '', format: 'ext9' }],
        raid: [{ name: 'r', level: 'raid9', devices: [] }],
        luks: [{ name: 'a/b', clevis: { custom: { pin: 'x', config: '' } } }],
        files: [{ path: '/a', mode: 99_999, contents: { source: 'ftp://h', compression: 'xz' } }],
      },
    };
    const { rules } = verify(JSON.stringify({ ignition: { version: '3.3.0' }, ...config }));
    expect(rules).toEqual([]);
  });
});

describe('a path', () => {
  it.each([
    ['', '.'],
    ['./', '.'],
    ['a/..', '.'],
    ['a//b/../c/', 'a/c'],
    ['../../a', '../../a'],
    ['/../a', '/a'],
  ])('%j is simplified to %j', (path, simple) => {
    expect(simplifyPath(path)).toBe(simple);
  });
});
