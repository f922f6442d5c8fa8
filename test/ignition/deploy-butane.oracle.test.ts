import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { butane } from '../../scripts/parts/butane/butane.ts';
import { partFolder } from '../../scripts/parts/part.ts';

const run = promisify(execFile);
const host = resolve(import.meta.dirname, '../../deploy/host');

interface Ignition {
  readonly storage: {
    readonly files: readonly {
      readonly path: string;
      readonly mode?: number;
      readonly contents: { readonly source: string; readonly compression: 'gzip' };
    }[];
  };
}

const contentIn = (ignition: string, path: string): string => {
  const file = (JSON.parse(ignition) as Ignition).storage.files.find((one) => one.path === path);
  const [, base64 = ''] = file?.contents.source.split('base64,') ?? [];
  return gunzipSync(Buffer.from(base64, 'base64')).toString();
};

describe.each(['worker', 'master'])('deploy/host/install-%s.bu', (role) => {
  const ignition = join(host, `install-${role}.ign`);

  it('is the source of the Ignition file beside it', async () => {
    const program = join(partFolder(butane), 'bin', 'butane');
    const { stdout } = await run(program, [
      ...['--strict', '--pretty', '--files-dir', host],
      join(host, `install-${role}.bu`),
    ]);
    // After a change: vitest run --project oracle test/ignition/deploy-butane.oracle.test.ts
    // --update
    await expect(stdout).toMatchFileSnapshot(ignition);
  });

  it("passes Ignition's own validation without a warning", async () => {
    const { stdout, stderr } = await run('ignition-validate', [ignition]);
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
  });

  it('contains the unchanged quadlet and configuration', () => {
    const text = readFileSync(ignition, 'utf8');
    const read = (name: string): string => readFileSync(join(host, name), 'utf8');
    expect(contentIn(text, '/etc/containers/systemd/bootwright.container')).toBe(
      read('bootwright.container'),
    );
    expect(contentIn(text, '/etc/bootwright/config.yaml')).toBe(read(`config/${role}.yaml`));
  });
});

it('the Ignition of the node in install-master.ign is readable by root only', () => {
  const ignition = readFileSync(join(host, 'install-master.ign'), 'utf8');
  const { files } = (JSON.parse(ignition) as Ignition).storage;
  expect(files.find(({ path }) => path === '/etc/bootwright/master.ign')?.mode).toBe(0o600);
});
