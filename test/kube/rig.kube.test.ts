import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startRig } from '../../scripts/rig.ts';
import { nodes } from '../../src/kube/kinds.ts';
import { hostClient, nodeOf } from './rig.ts';

it('blocks the API server during a partition, and leaves nothing behind on close', async () => {
  const kube = await startRig({ crds: [] });
  const client = hostClient(kube.kubeconfig);
  await client.list({ kind: nodes });
  kube.forwarder.partition();
  let isAnswered = false;
  const asked = client.list({ kind: nodes }).finally(() => (isAnswered = true));
  await kube.client.create(nodes, nodeOf('behind'));
  expect(isAnswered).toBe(false);
  kube.forwarder.heal();
  await expect(asked).resolves.toMatchObject([{ metadata: { name: 'behind' } }]);
  await client.close();
  const final = await kube.startFinal();
  await kube.close();
  const servers = [kube.api, kube.etcd, final];
  expect(servers.map(({ isRunning }) => isRunning())).toEqual([false, false, false]);
  expect(existsSync(kube.folder)).toBe(false);
});
