// The last command of the must-gather pod, run unchanged against the stand-in of the service.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Auth, tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { Config } from '../../src/config/schema.ts';
import { gatheringPod, gatheringSecret } from '../../src/controllers/installation/must-gather.ts';

const run = promisify(execFile);
const cluster = clusterSeed({ status: 'error' });
const issuer = tokenIssuer();

let folder: string;
let server: InventoryServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gathered-'));
  for (const name of ['bin', 'gathered/must-gather/ocp']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  writeFileSync(join(folder, 'gathered/must-gather/ocp/version'), '4.20.1');
});
afterEach(async () => {
  await server?.close();
  rmSync(folder, { recursive: true });
});

interface Upload {
  readonly spec: {
    readonly containers: readonly {
      readonly command: readonly string[];
      readonly env: readonly { readonly name: string; readonly value: string }[];
    }[];
  };
}

/**
 * Runs the command of the uploading container, with a token in its file and an oc that prints a
 * text.
 */
async function upload(auth: Auth, { token, oc }: { readonly token: string; readonly oc: string }) {
  const service = await startInventory({ cluster, hosts: [], auth });
  server = service;
  writeFileSync(join(folder, 'token'), token);
  writeFileSync(join(folder, 'bin/oc'), `#!/bin/sh\n${oc}\n`, { mode: 0o755 });
  const config = Config.parse({ service: { url: service.url }, cluster: { id: cluster.id } });
  const inNamespace = { ...config, namespace: 'ns' };
  const pod = gatheringPod(
    inNamespace,
    [{ name: 'ocp', image: 'o' }],
    undefined,
  ) as unknown as Upload;
  const secret = gatheringSecret(inNamespace)['stringData'] as Readonly<Record<string, string>>;
  const [container] = pod.spec.containers;
  const [command = '', ...args] = container?.command ?? [];
  const given = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
  const env = {
    ...secret,
    ...given,
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    GATHERED: join(folder, 'gathered'),
    TOKEN_FILE: join(folder, 'token'),
  };
  return { store: service.store, ended: run(command, args, { env }) };
}

/** Names of the files in an uploaded archive, and the text of one of them. */
async function filesIn(bytes: Uint8Array | undefined, name: string) {
  const path = join(folder, 'uploaded.tar.gz');
  writeFileSync(path, bytes ?? '');
  const { stdout: names } = await run('tar', ['-tzf', path]);
  const { stdout: text } = await run('tar', ['-xzOf', path, name]);
  return { names: names.trim().split('\n'), text };
}

const log = 'assisted-installer-controller.logs';

describe('the upload container of the must-gather pod', () => {
  it('uploads the gathered files with the log of the controller', async () => {
    const token = issuer.issue({ cluster_id: cluster.id });
    const { store, ended } = await upload(issuer.auth, { token, oc: 'echo "$@"' });
    expect((await ended).stdout).toBe('uploaded\n');
    const [file] = store.controllerLogs();
    expect(file).toMatchObject({ filename: 'controller_logs.tar.gz' });
    expect(await filesIn(file?.bytes, log)).toEqual({
      names: ['must-gather.tar.gz', log],
      text: 'logs --namespace ns job/assisted-installer-controller\n',
    });
  });

  it('works without a token and without the log', async () => {
    const { store, ended } = await upload({ kind: 'none' }, { token: '', oc: 'exit 1' });
    await ended;
    const { text } = await filesIn(store.controllerLogs()[0]?.bytes, log);
    expect(text).toBe('the log could not be read\n');
  });

  it('fails with the response of the service without printing the token', async () => {
    const { store, ended } = await upload(issuer.auth, { token: 'stale-token', oc: 'exit 0' });
    await expect(ended).rejects.toMatchObject({
      stderr: expect.stringMatching(/^(?![^]*stale-token)[^]*401/) as string,
    });
    expect(store.controllerLogs()).toEqual([]);
  });
});
