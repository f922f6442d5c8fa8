import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import recorded from '../../mocks/traces/assisted-service-settings.json' with { type: 'json' };
import { exitCodes } from '../../src/model/failure.ts';
import { withRefusals } from '../../src/cli/config.ts';
import { findInConfig } from '../../src/config/load.ts';
import { chooseRole } from '../../src/roles/choose.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');
const configs = join(deploy, 'host/config');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-deploy-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(['bootstrap', 'master', 'worker', 'arbiter', 'single-node'])(
  'deploy/host/config/%s.yaml',
  (role) => {
    const file = join(configs, `${role}.yaml`);
    const refusalsOf = async (path: string): Promise<readonly string[]> => {
      const { mistakes, config } = await findInConfig(['--config', path], {});
      expect(chooseRole(config).name).toBe(role);
      return withRefusals(mistakes, config).map(({ message }) => message);
    };

    it('is complete for its role, and needs no service', async () => {
      expect(await refusalsOf(file)).toEqual([]);
      expect(parse(await readFile(file, 'utf8'))).not.toHaveProperty('service');
    });

    it('references the configuration schema for editors', async () => {
      const [, path = ''] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(await readFile(file, 'utf8')) ?? [];
      const schema = JSON.parse(await readFile(resolve(configs, path), 'utf8')) as object;
      expect(schema).toMatchObject({ $id: 'urn:bootwright:configuration' });
    });

    it('is valid with all its comments enabled', async () => {
      const text = await readFile(file, 'utf8');
      const setting = /^( *)# ( *[a-z]\w*:(?: .*)?)$/gm;
      const open = text.replaceAll(setting, '$1$2').replaceAll('/etc/bootwright', folder);
      const names = ['service.pem', 'token', 's3-secret-key', 'master.ign'];
      await Promise.all(names.map((secret) => writeFile(join(folder, secret), 'text\n')));
      const whole = join(folder, `${role}.yaml`);
      await writeFile(whole, open);
      expect(open).not.toBe(text);
      expect(await refusalsOf(whole)).toEqual([]);
    });
  },
);

describe('deploy/host/bootwright.container', () => {
  const read = (name: string): Promise<string> => readFile(join(deploy, 'host', name), 'utf8');
  const valuesOf = (unit: string, key: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('uses the same image and mounts as the script', async () => {
    const [unit, script] = await Promise.all([read('bootwright.container'), read('bootwright.sh')]);
    const [, ...mounts] = script.split(/\s-v /).map((words) => words.split(' ')[0]);
    expect(valuesOf(unit, 'Volume').toSorted()).toEqual(mounts.toSorted());
    expect(script).toContain(` ${valuesOf(unit, 'Image')[0] ?? ''} `);
  });

  it('does not restart after errors that a restart cannot fix', async () => {
    const { input, unsupported, limit, cluster } = exitCodes;
    expect(valuesOf(await read('bootwright.container'), 'RestartPreventExitStatus')).toEqual([
      [input, unsupported, limit, cluster].join(' '),
    ]);
  });
});

describe('deploy/assisted-service', () => {
  const read = async (name: string): Promise<unknown> =>
    parse(await readFile(join(deploy, 'assisted-service', name), 'utf8'));

  it.each(['images.yaml', 'podman.yml'])(
    '%s sets only variables that the service reads',
    async (name) => {
      const { data } = (await read(name)) as { readonly data: Readonly<Record<string, string>> };
      expect(recorded.variables).toEqual(expect.arrayContaining(Object.keys(data)));
      expect(Object.keys(data)).toEqual(
        expect.arrayContaining(['INSTALLER_IMAGE', 'CONTROLLER_IMAGE']),
      );
      // The pattern of installer_image in the service's models.InstallCmdRequest.
      expect(data['INSTALLER_IMAGE']).toMatch(
        /^(([a-zA-Z0-9\-.]+)(:[0-9]+)?\/)?[a-z0-9._\-/@]+[?:a-zA-Z0-9_\-.]+$/,
      );
    },
  );

  it('agent-service-config.yaml names the settings and the registry', async () => {
    const { metadata } = (await read('images.yaml')) as { readonly metadata: { name: string } };
    expect(await read('agent-service-config.yaml')).toEqual({
      metadata: { annotations: { [recorded.annotation]: metadata.name } },
      spec: { [recorded.field]: ['registry.example'] },
    });
  });
});

describe('deploy/pxe', () => {
  it('boots the same kernel by iPXE and GRUB, with the Ignition of another role', async () => {
    const read = (name: string): Promise<string> => readFile(join(deploy, 'pxe', name), 'utf8');
    const [ipxe, grub] = await Promise.all([read('boot.ipxe'), read('grub.cfg')]);
    const set = new Map(
      [...ipxe.matchAll(/\bset (\w+) (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    const filled = (text: string): string =>
      text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => filled(set.get(name) ?? ''));
    const lineOf = (text: string, command: string): string =>
      new RegExp(`^ *${command} (?:--name main )?(.*)$`, 'm').exec(text)?.[1] ?? '';
    const byHttp = (path: string): string => `http://192.0.2.10${path}`;
    const kernel = filled(lineOf(ipxe, 'kernel')).replace(' initrd=main', '');
    expect(byHttp(lineOf(grub, 'linux'))).toBe(kernel.replace('worker.ign', 'master.ign'));
    expect(byHttp(lineOf(grub, 'initrd'))).toBe(filled(lineOf(ipxe, 'initrd')));
    expect(kernel).toContain(' ignition.firstboot ignition.platform.id=metal ');
  });

  it("passes GRUB's own check", async () => {
    const run = promisify(execFile);
    const { stderr } = await run('grub-script-check', [join(deploy, 'pxe/grub.cfg')]);
    expect(stderr).toBe('');
  });
});
