import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { payloadInstaller } from '../../src/adapters/payload-installer.ts';
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
  ...{ installConfig: `pullSecret: '{"auths":{"r.test":{"auth":"c2VjcmV0LXRva2Vu"}}}'\n` },
  manifests: [{ folder: 'openshift', name: 'a.yaml', content: 'a: 1', secret: 'mine' }],
  ...{ releaseImage: 'r.test/ocp@sha256:01', isSingleNode: false, stateSecret: 'state' },
};

const { signal } = new AbortController();

describe('the installer as a program', () => {
  it('R19: runs twice, manifests between, in a folder that nobody else sees and that is gone', async () => {
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
