import { describe, expect, it } from 'vitest';
import { readPointer } from '../../../src/ignition/pointer.ts';
import { parseValidConfig } from '../../../src/ignition/parse.ts';
import { inventoryApp } from '../../inventory/app.ts';
import { clusterSeed, hostSeed } from '../../inventory/seed.ts';
import { inventoryStore } from '../../inventory/store.ts';
import { forGuests, giveConfig } from './guest-answers.ts';

describe('the machine-config-server of guests', () => {
  const ask = (path: string, isServed: boolean) => {
    const given: string[] = [];
    const serving = { isServed: () => isServed, given: (id: string) => given.push(id) };
    const { status } = giveConfig(new Request(`http://10.0.2.2:1${path}`), serving);
    return { status, given };
  };

  it.each([
    { path: '/config/master?host=m1', isServed: true, status: 200, given: ['m1'] },
    { path: '/config/master?host=m1', isServed: false, status: 503, given: [] },
    { path: '/healthz', isServed: true, status: 404, given: [] },
  ])('answers $path with $status (served: $isServed)', ({ path, isServed, ...expected }) => {
    expect(ask(path, isServed)).toEqual(expected);
  });
});

describe('the inventory service of guests', () => {
  const cluster = clusterSeed();
  const host = hostSeed({
    ...{ clusterId: cluster.id, infraEnvId: '22222222-2222-4222-8222-222222222222' },
    ...{ hostname: 'm1', role: 'master' },
  });
  const store = inventoryStore({ cluster, hosts: [host] });
  const app = inventoryApp(store, { kind: 'none' });
  const view = { store, desk: 'http://10.0.2.2:3', configServer: 'http://10.0.2.2:2' };
  const get = async (path: string): Promise<Response> => {
    const url = `http://127.0.0.1:1/api/assisted-install/v2${path}`;
    return forGuests(await app.request(url), url, view);
  };
  const hostPath = `/infra-env/${host.infraEnvId}/hosts/${host.id}/downloads/ignition`;
  const files = `/clusters/${cluster.id}/downloads/files?file_name=`;

  it('points each host to the machine-config-server, which can tell who asks', async () => {
    const { config } = parseValidConfig(await (await get(hostPath)).text());
    const url = `http://10.0.2.2:2/config/master?host=${host.id}`;
    expect(readPointer(config)).toMatchObject({ kind: 'remote', url });
  });

  it('gives the bootstrap host scripts that ask at the desk', async () => {
    const { config } = parseValidConfig(await (await get(`${files}bootstrap.ign`)).text());
    const paths = config.storage?.files?.map(({ path }) => path);
    expect(paths).toContain('/usr/local/bin/progress.sh');
  });

  it.each([[`${files}metadata.json`], [`${files}nothing`], [`/clusters/${cluster.id}`]])(
    'answers %s as always',
    async (path) => {
      const plain = await app.request(`http://127.0.0.1:1/api/assisted-install/v2${path}`);
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([plain.status, await plain.text()]);
    },
  );
});
