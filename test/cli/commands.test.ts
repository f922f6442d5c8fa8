import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, copyBundle } from './bundle.ts';

let bundle: Bundle;
let folder: string;
beforeAll(async () => {
  bundle = await copyBundle();
  folder = await mkdtemp(join(tmpdir(), 'bootwright-commands-'));
});
afterAll(async () => {
  await rm(bundle.directory, { recursive: true });
  await rm(folder, { recursive: true });
});

const line =
  '--role worker --url http://127.0.0.1:1 --cluster-id c --host-id h --boot-device /dev/null';

describe('plan', () => {
  it('prints the plan of the role to stdout alone', async () => {
    const { exitCode, stdout, stderr } = await bundle.run(['plan', ...line.split(' ')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('Role worker: ');
    expect(stdout).toMatch(/^! image\/write /m);
    expect(stdout).toMatch(/^ +\$ coreos-installer install /m);
  });
});

describe('config', () => {
  it('shows settings from every source with their origins, secrets masked', async () => {
    const path = join(folder, 'c.yaml');
    await writeFile(path, 'disk:\n  device: /dev/file\nimage:\n  file: /image\n');
    await writeFile(join(folder, 'key'), 'hidden-key\n');
    const words = ['--config', path, '--boot-device', '/dev/flag'];
    const { exitCode, stdout } = await bundle.run(
      ['config', 'show', '--format', 'json', ...words],
      {
        environment: {
          BOOTWRIGHT_S3_SECRET_ACCESS_KEY_FILE: join(folder, 'key'),
          PULL_SECRET_TOKEN: 'hidden-token',
        },
      },
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      'disk.device': { value: '/dev/flag', origin: 'flag --boot-device' },
      'image.file': { value: '/image', origin: `file ${path}:4` },
      'service.token': { value: '***', origin: 'environment PULL_SECRET_TOKEN' },
      's3.secretAccessKey': { value: '***', origin: `file ${folder}/key` },
      'log.format': { value: 'auto', origin: 'default' },
    });
    expect(stdout).not.toContain('hidden');
  });

  it('accepts a complete configuration and lists the errors of an incomplete one', async () => {
    expect(await bundle.run(['config', 'validate', ...line.split(' ')])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^the configuration is complete$/m) as string,
    });
    const { exitCode, stdout } = await bundle.run(['config', 'validate', '-r', 'bootstrap']);
    expect(exitCode).toBe(2);
    expect(stdout).toContain('error: no install disk is set [config.incomplete]\n');
    expect(stdout).toContain('an install would be refused: 3 errors\n');
  });
});

it('media reads a configuration once, as a pipe gives it once', async () => {
  const at = (name: string): string => join(folder, name);
  await promisify(execFile)('mkfifo', [at('pipe.yaml')]);
  const settings = 'role: worker\ndisk: {device: /dev/x}\nignition: {url: "http://h/w.ign"}\n';
  // Keeps the Ignition, and makes an empty medium.
  const script = `#!/bin/sh\ncp "$4" ${at('live.ign')}; touch "$6"\n`;
  await writeFile(at('coreos-installer'), script, { mode: 0o755 });
  await writeFile(at('live.iso'), '');
  const words = ['--config', at('pipe.yaml'), '--iso', at('live.iso'), '--out', at('host.iso')];
  const environment = { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  const [{ exitCode }] = await Promise.all([
    bundle.run(['media', ...words, '--image', 'registry.example/b:1'], { environment }),
    writeFile(at('pipe.yaml'), settings),
  ]);
  expect(exitCode).toBe(0);
  const base64 = Buffer.from('role: worker').toString('base64');
  expect(await readFile(at('live.ign'), 'utf8')).toContain(base64);
});
