import { afterEach, describe, expect, it } from 'vitest';
import { runGathering } from '../../mocks/cluster/gathering.ts';
import type { ClusterWork } from '../../mocks/cluster/site.ts';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { serviceLines } from '../../mocks/lab/make-report.ts';
import { Config } from '../../src/config/schema.ts';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import {
  gatheringPod,
  gatheringSecret,
} from '../../src/controllers/installation/must-gather-pod.ts';

const namespace = 'assisted-installer';
const cluster = clusterSeed({ status: 'error' });
const issuer = tokenIssuer();

let server: InventoryServer | undefined;
afterEach(() => server?.close());

/** A cluster with what the controller makes to gather it, whose service wants a token. */
async function clusterWith(token: string) {
  server = await startInventory({ cluster, hosts: [], auth: issuer.auth });
  const service = { url: server.url };
  const config = { ...Config.parse({ service, cluster: { id: cluster.id } }), namespace };
  const images = [{ name: 'ocp', image: 'o' }];
  const stringData = { 'pull-secret-token': token };
  const metadata = { name: 'assisted-installer-controller-secret', namespace };
  const objects = [
    gatheringPod(config, { images, controller: undefined }),
    gatheringSecret(config),
    { kind: 'Secret', metadata, stringData },
  ] as readonly KubeObject[];
  const statuses: unknown[] = [];
  const complaints: string[] = [];
  const logs = new Map<string, () => string>();
  const client = {
    get: ({ kind: { plural }, name }: KubeRef) => {
      const kind = plural === 'pods' ? 'Pod' : 'Secret';
      const found = objects.find((one) => one.kind === kind && one.metadata.name === name);
      const data = Object.entries(found?.['stringData'] ?? {}).map(
        ([key, value]) => [key, Buffer.from(String(value)).toString('base64')] as const,
      );
      const status = kind === 'Pod' ? statuses.at(-1) : undefined;
      return Promise.resolve(found && { ...found, data: Object.fromEntries(data), status });
    },
    mergeStatus: (_: KubeRef, status: unknown) => {
      statuses.push(status);
      return Promise.resolve();
    },
  };
  const complain = (what: string): void => void complaints.push(what);
  const work = { kube: { client }, logs, complain } as unknown as ClusterWork;
  return { work, store: server.store, statuses, complaints, logs };
}

describe('the pod of must-gather in the lab', () => {
  it('uploads by what its Secrets say, and runs once', async () => {
    const { work, store, statuses, complaints, logs } = await clusterWith(
      issuer.issue({ cluster_id: cluster.id }),
    );
    await runGathering(work);
    await runGathering(work);
    expect(statuses).toMatchObject([{ phase: 'Succeeded' }]);
    expect(serviceLines(store)).toMatch(/^must-gather$/m);
    expect(store.controllerLogs()).toHaveLength(1);
    expect(logs.get('assisted-installer-must-gather')?.()).toBe('uploaded');
    expect(complaints).toEqual([]);
  });

  it('is complained of when the service refuses it', async () => {
    const { work, store, complaints } = await clusterWith('another token');
    await runGathering(work);
    expect(complaints).toMatchObject([expect.stringContaining('was not uploaded: 401') as string]);
    expect(store.controllerLogs()).toEqual([]);
  });
});
