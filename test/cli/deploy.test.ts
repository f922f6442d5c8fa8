import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Bundle, copyBundle } from './bundle.ts';

const configs = resolve(import.meta.dirname, '../../deploy/host/config');

let bundle: Bundle;
let folder: string;
beforeAll(async () => {
  bundle = await copyBundle();
  folder = await mkdtemp(join(tmpdir(), 'bootwright-deploy-'));
});
afterAll(async () => {
  await rm(bundle.directory, { recursive: true });
  await rm(folder, { recursive: true });
});

describe.each([
  ['bootstrap', 'bootstrap'],
  ['master', 'master'],
  ['worker', 'worker'],
  ['arbiter', 'arbiter'],
  ['single-node', 'single-node'],
])('deploy/host/config/%s.yaml', (name, role) => {
  const file = join(configs, `${name}.yaml`);

  it('is complete, and needs no service', async () => {
    const validate = ['config', 'validate', '--config', file];
    const { exitCode, stdout, stderr } = await bundle.run(validate);
    const complete = 'the configuration is complete\n';
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: complete, stderr: '' });
    expect(parse(await readFile(file, 'utf8'))).not.toHaveProperty('service');
  });

  it('has the plan of its role', async () => {
    const { exitCode, stdout, stderr } = await bundle.run(['plan', '--config', file]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(`Role ${role}: `);
  });

  it('comments out nothing that would be refused', async () => {
    const text = await readFile(file, 'utf8');
    const setting = /^( *)# ( *[a-z]\w*:(?: .*)?)$/gm;
    const open = text.replaceAll(setting, '$1$2').replaceAll('/etc/bootwright', folder);
    const names = ['service.pem', 'token', 's3-secret-key'];
    await Promise.all(names.map((secret) => writeFile(join(folder, secret), 'text\n')));
    const whole = join(folder, `${name}.yaml`);
    await writeFile(whole, open);
    expect(open).not.toBe(text);
    const { stdout } = await bundle.run(['config', 'validate', '--config', whole]);
    expect(stdout).toBe('the configuration is complete\n');
  });
});
