// Files and units of a MachineConfig, written by the node's real programs below a folder: with
// --root, systemctl does not contact a manager.
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import type { Host } from '../../src/ports/host.ts';
import { applyChange, hostChange, isChange } from '../../src/controllers/node/host-files.ts';
import { readConfigured } from '../../src/controllers/node/host-snapshot.ts';
import { wantedHost, type WantedHost } from '../../src/controllers/node/wanted-host.ts';
import { configFile, machineConfig } from '../support/agent-node.ts';
import { standInNsenter } from './real/host-subjects.ts';

const { signal } = new AbortController();
let root: string;
let host: Host;

const put = async (path: string, text: string, mode = 0o644): Promise<void> => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
  await chmod(join(root, path), mode);
};
const unitText = (target: string): string =>
  `[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=${target}.target\n`;
const wantsOf = (target: string): Promise<readonly string[]> =>
  readdir(join(root, `/etc/systemd/system/${target}.target.wants`)).catch(() => []);

/** The programs of this machine, confined to files below the folder. */
async function hostBelow(folder: string): Promise<Host> {
  const environment = { PATH: await standInNsenter(folder) };
  const real = nsenterHost({ environment, root: '/' });
  const below = (word: string): string => (word.startsWith('/') ? join(folder, word) : word);
  return {
    ...real,
    exec: async (argv, options) => {
      const [program = '', ...words] = argv;
      if (program !== 'systemctl') {
        const result = await real.exec([program, ...words.map(below)], options);
        return { ...result, stdout: result.stdout.replaceAll(folder, '') };
      }
      // This command would contact the manager of this machine.
      if (words[0] === 'daemon-reload') return { exitCode: 0, stdout: '', stderr: '', duration: 0 };
      return real.exec(['systemctl', `--root=${folder}`, ...words], options);
    },
    readText: (path, ...more) => real.readText(below(path), ...more),
    writeFile: (path, ...more) => real.writeFile(below(path), ...more),
    remove: (path, ...more) => real.remove(below(path), ...more),
  };
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'bootwright-node-'));
  host = await hostBelow(root);
  await put('/usr/lib/systemd/system-preset/50.preset', 'enable os.service\ndisable *\n');
  await put('/usr/lib/systemd/system/os.service', unitText('multi-user'));
  await put('/usr/etc/os.conf', 'of the OS', 0o440);
  await put('/etc/os.conf', 'of the OS', 0o440);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const unit = (name: string, more: object) => ({ name: `${name}.service`, ...more });
const first = wantedHost(
  machineConfig('c1', {
    files: [configFile('/etc/os.conf', 'ours'), configFile('/etc/secret', 'same')],
    units: [
      unit('os', { enabled: false }),
      unit('left', { contents: unitText('multi-user'), enabled: true }),
      unit('moved', { contents: unitText('multi-user'), enabled: true }),
      unit('never', { contents: unitText('multi-user'), enabled: true }),
      unit('masked', { mask: true }),
    ],
  }) as never,
);
const next = wantedHost(
  machineConfig('c2', {
    files: [configFile('/etc/secret', 'same', 0o600)],
    units: [
      unit('moved', { contents: unitText('graphical'), enabled: true }),
      unit('never', { contents: unitText('multi-user'), mask: true }),
    ],
  }) as never,
);

/** Applies the wanted files and units to the host with its own programs. */
async function give(wanted: WantedHost, before: WantedHost | undefined): Promise<void> {
  const at = { host, signal };
  const configs = before === undefined ? [wanted] : [wanted, before];
  await applyChange(at, hostChange(await readConfigured(at, configs), wanted, before));
  const rest = hostChange(await readConfigured(at, configs), wanted, undefined);
  expect(isChange(rest), JSON.stringify(rest)).toBe(false);
}

it('applies the files and units of a MachineConfig, of the next one, and of the first one again', async () => {
  await give(first, undefined);
  expect(await wantsOf('multi-user')).toEqual([
    ...['left.service', 'moved.service', 'never.service'],
  ]);
  await give(next, first);
  // A masked unit does not start, even if another unit wants it.
  expect(await wantsOf('multi-user')).toEqual(['never.service', 'os.service']);
  expect(await wantsOf('graphical')).toEqual(['moved.service']);
  const left = await readdir(join(root, '/etc/systemd/system'));
  expect(left.filter((name) => name.endsWith('.service'))).toEqual([
    ...['moved.service', 'never.service'],
  ]);
  const { mode } = await stat(join(root, '/etc/os.conf'));
  expect([mode & 0o777, await host.readText('/etc/os.conf', signal)]).toEqual([0o440, 'of the OS']);
  expect((await stat(join(root, '/etc/secret'))).mode & 0o777).toBe(0o600);
  await give(first, next);
  expect(await wantsOf('multi-user')).toEqual([
    ...['left.service', 'moved.service', 'never.service'],
  ]);
  expect(await host.readText('/etc/os.conf', signal)).toBe('ours');
});
