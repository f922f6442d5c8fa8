import { beforeEach, describe, expect, it } from 'vitest';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeClock, type FakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { seconds } from '../../model/duration.ts';
import type { Inventory } from '../../ports/inventory.ts';
import { inventoryFailure } from '../http/failures.ts';
import { clusterCredentials } from './credentials.ts';

const path = '/opt/openshift/auth/kubeconfig';
const { signal } = new AbortController();

let clock: FakeClock;
let host: ReturnType<typeof fakeHost>;
let requests = 0;
beforeEach(() => {
  clock = fakeClock({ auto: false });
  host = fakeHost();
  requests = 0;
});

const answering = (answer: () => string | Error): Pick<Inventory, 'kubeconfig'> => ({
  kubeconfig: () => {
    requests += 1;
    const given = answer();
    return given instanceof Error ? Promise.reject(given) : Promise.resolve(downloadOf(given));
  },
});
const credentialsOf = (inventory?: Pick<Inventory, 'kubeconfig'>) =>
  clusterCredentials({ host, path, clock, ...(inventory && { inventory }) });
const refusing = (code: 'inventory.not-found' | 'inventory.refused' | 'inventory.denied') =>
  answering(() => inventoryFailure(code, 'no'));

describe('the kubeconfig of the cluster', () => {
  it('is read from the host without a request to the service', async () => {
    host.withFile(path, 'own');
    const credentials = credentialsOf(answering(() => 'theirs'));
    expect(await credentials(signal)).toBe('own');
    expect(requests).toBe(0);
  });

  it('is undefined while the file is missing or empty and there is no service', async () => {
    const credentials = credentialsOf();
    expect(await credentials(signal)).toBeUndefined();
    host.withFile(path, '\n');
    expect(await credentials(signal)).toBeUndefined();
  });

  it('is downloaded from the service when the host has no file', async () => {
    const inventory = answering(() => 'theirs');
    expect(await credentialsOf(inventory)(signal)).toBe('theirs');
  });

  it.each(['inventory.not-found', 'inventory.refused'] as const)(
    'is undefined when the service answers %s, and requested again after ten seconds',
    async (code) => {
      const credentials = credentialsOf(refusing(code));
      expect(await credentials(signal)).toBeUndefined();
      expect(await credentials(signal)).toBeUndefined();
      expect(requests).toBe(1);
      await clock.advance(seconds(10));
      expect(await credentials(signal)).toBeUndefined();
      expect(requests).toBe(2);
    },
  );

  it('fails with another error of the service', async () => {
    const credentials = credentialsOf(refusing('inventory.denied'));
    await expect(credentials(signal)).rejects.toMatchObject({ code: 'inventory.denied' });
  });

  it('is refused when it exceeds 1 MiB', async () => {
    const inventory = answering(() => 'x'.repeat(1024 * 1024 + 1));
    const credentials = credentialsOf(inventory);
    await expect(credentials(signal)).rejects.toMatchObject({ code: 'kube.bad-credentials' });
  });

  it('is read from the host when its file appears during the request, which is aborted', async () => {
    let stopped: AbortSignal | undefined;
    const inventory: Pick<Inventory, 'kubeconfig'> = {
      kubeconfig: (inner) => {
        stopped = inner;
        return new Promise(() => undefined);
      },
    };
    const found = credentialsOf(inventory)(signal);
    await settle();
    host.withFile(path, 'own');
    await clock.advance(seconds(1));
    expect(await found).toBe('own');
    expect(stopped?.aborted).toBe(true);
    await settle();
    expect(clock.sleeping()).toBe(0);
  });
});
