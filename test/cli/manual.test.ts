import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { bootwright } from '../../src/cli/program/commands.ts';

const page = join(import.meta.dirname, '../../docs/bootwright.1');
const execute = promisify(execFile);

describe('the man page', () => {
  it('is read by groff without a warning', async () => {
    const { stdout, stderr } = await execute('groff', ['-man', '-ww', '-z', '-Tutf8', page]);
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
  });

  it('is what mandoc recommends, in style too', async () => {
    const { stdout, stderr } = await execute('mandoc', ['-T', 'lint', page]);
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
  });

  it('has the files of a host, and what to read next', async () => {
    const { stdout } = await execute('groff', ['-man', '-Tutf8', '-P-cbou', page]);
    const [, files = '', next = ''] = stdout.split(/^(?:FILES|SEE ALSO)$/m);
    for (const path of [
      '/etc/bootwright/config.yaml',
      '/opt/install-dir/journal.jsonl',
      '/opt/install-dir/status.json',
      '/opt/install-dir/bundle-TIME.tar.gz',
      '/opt/install-dir/logs-TIME.tar.gz',
      '/var/log/assisted-installer.log',
    ])
      expect(files).toMatch(new RegExp(`^ +${path}$`, 'm'));
    expect(next).toContain('coreos-installer(8)');
  });

  it('has every command with its options', async () => {
    const { stdout } = await execute('groff', ['-man', '-Tutf8', '-P-cbou', page]);
    const text = stdout.replaceAll(/\s+/g, ' ');
    for (const { path, options } of bootwright().all.filter(
      ({ commands }) => commands.length === 0,
    )) {
      expect(text).toContain(['bootwright', ...path].join(' '));
      for (const { long } of options) expect(text).toContain(long);
    }
  });
});
