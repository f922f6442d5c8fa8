import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { payloadInstaller } from '../../src/adapters/payload-installer.ts';
import { processIdentity } from '../../src/adapters/status-file.ts';
import type { InstallInputs } from '../../src/ports/installer.ts';

let folder: string;
let program: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-stub-'));
  program = join(folder, 'openshift-install');
});
afterEach(() => rm(folder, { recursive: true }));

/** A program that keeps what it was given, and makes what the installer makes. */
const stub = async (last: string): Promise<void> => {
  const script = `#!/bin/sh
set -e
cd "$4"
echo "$2 $(find . -type f | sort | tr '\\n' ' ')$(stat -c %a .)" >>${folder}/runs
pwd >>${folder}/folders
rm -rf install-config.yaml
mkdir -p auth manifests
for file in bootstrap.ign master.ign worker.ign metadata.json auth/kubeconfig auth/kubeadmin-password; do echo "{}" >$file; done
[ "$2" = manifests ] && rm -rf *.ign
${last}
`;
  await writeFile(program, script);
  await chmod(program, 0o700);
};

const inputs: InstallInputs = {
  installConfig: `pullSecret: '{"auths":{"r.test":{"auth":"c2VjcmV0LXRva2Vu"}}}'\n`,
  manifests: [{ folder: 'openshift', name: 'a.yaml', content: 'a: 1', secret: 'mine' }],
  releaseImage: 'r.test/ocp@sha256:01',
  isSingleNode: false,
  stateSecret: 'state',
};

const { signal } = new AbortController();

/** A process that is killed while the installer runs; prints its folder. */
const abandoning = `
const from = ${JSON.stringify(new URL('../../src/', import.meta.url).href)};
const { payloadInstaller } = await import(from + 'adapters/payload-installer.ts');
const { readdirSync } = await import('node:fs');
const exec = (argv) => {
  process.stdout.write(argv.at(-1) + '\\n', () => process.kill(process.pid, 'SIGKILL'));
  return new Promise(() => undefined);
};
const installer = payloadInstaller(process.argv[1], { host: { exec }, emit: () => undefined });
await installer.make(${JSON.stringify(inputs)}, new AbortController().signal);
`;

describe('the installer as a program', () => {
  it('runs twice, manifests between, in a folder that nobody else sees and that is gone', async () => {
    await stub('exit 0');
    const events: object[] = [];
    const made = await payloadInstaller(program, {
      host: localHost(),
      emit: (event) => events.push(event),
    }).make(inputs, signal);
    expect(Object.keys(made).sort()).toEqual([
      ...['auth/kubeadmin-password', 'auth/kubeconfig', 'bootstrap.ign', 'master.ign'],
      ...['metadata.json', 'worker.ign'],
    ]);
    const runs = await readFile(join(folder, 'runs'), 'utf8');
    expect(runs).toMatch(
      /^manifests \.\/install-config\.yaml 700\nignition-configs .*\.\/openshift\/a\.yaml 700\n$/s,
    );
    const folders = (await readFile(join(folder, 'folders'), 'utf8')).trim().split('\n');
    expect(folders.map((one) => existsSync(one))).toEqual([false, false]);
  });

  it('removes what killed processes left, and no folder of another', async () => {
    await stub('exit 0');
    const argv = ['--input-type=module', '--eval', abandoning, program];
    const left = spawnSync(process.execPath, argv, { encoding: 'utf8' }).stdout.trim();
    const { pid, startTicks, bootId } = processIdentity() ?? {};
    const others = [
      left.replace(/installer-\d+/, 'installer-1'),
      left.replace(/(?<=installer-\d+-).*/, `${pid}-${startTicks}-${bootId}-abcdef`),
      join(dirname(left), 'bootwright-installer-abcdef'),
    ];
    for (const other of others) mkdirSync(other);
    try {
      expect(existsSync(left)).toBe(true);
      const running = payloadInstaller(program, { host: localHost(), emit: () => undefined });
      await running.make(inputs, signal);
      expect([left, ...others].map((one) => existsSync(one))).toEqual([false, true, true, true]);
    } finally {
      for (const one of others) await rm(one, { recursive: true });
    }
  });

  it.each([
    [
      'echo "level=warning msg=\\"Discarding the Openshift Manifests that was provided in the target directory because its dependencies are dirty\\"" >&2',
      'installer.manifests-discarded',
    ],
    [
      'echo "level=error msg=\\"cannot pull with c2VjcmV0LXRva2Vu\\"" >&2; exit 3',
      'installer.failed',
    ],
  ])('is no success with %s', async (last, code) => {
    await stub(last);
    const events: object[] = [];
    const running = payloadInstaller(program, {
      host: localHost(),
      emit: (event) => events.push(event),
    }).make(inputs, signal);
    await expect(running).rejects.toMatchObject({ code });
    const error: unknown = await running.catch((thrown: unknown) => thrown);
    expect(`${String(error)} ${JSON.stringify(events)}`).not.toContain('c2VjcmV0LXRva2Vu');
  });
});
