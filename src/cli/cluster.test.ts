import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readKubeconfig } from '../adapters/kube/kubeconfig.ts';
import { commandCredentials } from './cluster.ts';

const account = { token: 'secret-token\n', ca: 'PEM of the authorities' };

describe('commandCredentials in a pod', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'bootwright-account-'));
    await writeFile(join(directory, 'token'), account.token);
    await writeFile(join(directory, 'ca.crt'), account.ca);
  });
  afterEach(() => rm(directory, { recursive: true }));

  it.each([
    [
      { KUBERNETES_SERVICE_HOST: '172.30.0.1', KUBERNETES_SERVICE_PORT: '6443' },
      'https://172.30.0.1:6443',
    ],
    [{ KUBERNETES_SERVICE_HOST: 'fd02::1', KUBERNETES_SERVICE_PORT: '443' }, 'https://[fd02::1]'],
    [{ KUBERNETES_SERVICE_HOST: 'api-int.c.example' }, 'https://api-int.c.example'],
  ])('returns for %j a kubeconfig with the server %s', async (environment, server) => {
    const read = await commandCredentials(environment, undefined, directory);
    const access = readKubeconfig(await read());
    expect(access).toMatchObject({ server, ca: account.ca, isInsecure: false });
    expect(access.authorization?.reveal()).toBe('Bearer secret-token');
  });
});

describe('commandCredentials', () => {
  it('fails outside a pod without --kubeconfig', async () => {
    await expect(commandCredentials({}, undefined)).rejects.toMatchObject({
      code: 'cli.not-in-cluster',
      kind: 'input',
    });
  });

  it('fails when the kubeconfig cannot be read', async () => {
    await expect(commandCredentials({}, '/nowhere/kubeconfig')).rejects.toMatchObject({
      code: 'config.file-not-read',
    });
  });

  it('remembers a kubeconfig from a pipe, which is empty when it is read again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bootwright-kubeconfig-'));
    const pipe = join(directory, 'pipe');
    await writeFile(pipe, 'the kubeconfig');
    const read = await commandCredentials({}, pipe);
    await writeFile(pipe, '');
    expect(await read()).toBe('the kubeconfig');
    await rm(directory, { recursive: true });
  });
});
