import { describe, expect, it } from 'vitest';
import { validationCases } from '../../test/ignition/cases.ts';
import { AgentError } from '../model/failure.ts';
import { lintConfig } from './parse.ts';

interface Verdict {
  readonly rules: readonly string[];
  readonly code?: string | undefined;
}

function verify(text: string): Verdict {
  try {
    return { rules: lintConfig(text).findings.map(({ rule }) => rule) };
  } catch (failure) {
    if (!(failure instanceof AgentError)) throw failure;
    return { rules: [], code: failure.code };
  }
}

describe('lintConfig', () => {
  it.each(validationCases)('finds the violated rules: $name', ({ config, code, rules = [] }) => {
    expect(verify(config)).toEqual({ rules, code });
  });

  it('reports the path of a violated rule', () => {
    const text =
      '{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/a"},{"path":"b"}]}}';
    expect(lintConfig(text).findings).toMatchObject([
      { rule: 'path-relative', path: 'storage.files[1].path' },
    ]);
  });

  it('accepts violations of rules that only Ignition checks', () => {
    const config = {
      systemd: { units: [{ name: 'a', contents: '[Unit' }] },
      storage: {
        disks: [{ device: 'sda', partitions: [{ number: 1 }, { number: 2, label: 'a:b' }] }],
        filesystems: [{ device: '', format: 'ext9' }],
        raid: [{ name: 'r', level: 'raid9', devices: [] }],
        luks: [{ name: 'a/b', clevis: { custom: { pin: 'x', config: '' } } }],
        files: [{ path: '/a/', mode: 99_999, contents: { source: 'ftp://h', compression: 'xz' } }],
      },
    };
    const text = JSON.stringify({ ignition: { version: '3.6.0' }, ...config });
    expect(verify(text)).toEqual({ rules: [] });
  });
});
