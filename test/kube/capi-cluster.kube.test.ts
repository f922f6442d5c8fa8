// The guides of Cluster API with a real API server and kubectl; objects have the fields that the
// providers would have written.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, it, vi } from 'vitest';
import { applyCrds } from '../../mocks/kube/crds.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { ensureBundle } from '../../scripts/bundle.ts';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { kubectl } from '../../scripts/parts/kube/kubectl.ts';
import { startRig } from '../../scripts/api-server.ts';
import {
  bootstrapConfigs,
  bootstrapConfigType,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
} from '../../src/capi/api.ts';
import type { KubeRef } from '../../src/ports/kube.ts';
import { configSpec } from '../capi/cluster.ts';
import { deployedDefinitions } from '../capi/management.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { openDefinition } from './cluster-access.ts';

const metal3 = { group: 'infrastructure.cluster.x-k8s.io', version: 'v1beta1' };
let rig: Rig;

beforeAll(async () => {
  await ensureBundle(() => undefined);
  rig = await startRig({ crds: [] });
  const folder = join(rig.folder, 'definitions');
  mkdirSync(folder);
  const definitions = [
    ...deployedDefinitions(),
    ...[openDefinition(clusters, 'Cluster'), openDefinition(capiMachines, 'Machine')],
    ...['MachineDeployment', 'MachineHealthCheck'].map((kind) =>
      openDefinition({ ...clusters, plural: `${kind.toLowerCase()}s` }, kind),
    ),
    ...['Metal3Cluster', 'Metal3MachineTemplate'].map((kind) =>
      openDefinition({ ...metal3, plural: `${kind.toLowerCase()}s` }, kind),
    ),
  ];
  for (const one of definitions)
    writeFileSync(join(folder, `${one.metadata.name}.yaml`), JSON.stringify(one));
  await applyCrds(rig.client, folder, 'all');
});
afterAll(() => rig.close());
it('installs with the commands of cluster-api-metal3.md', async () => {
  const namespace = 'example';
  const files = { 'management.kubeconfig': rig.kubeconfig };
  const bin = join(await ensurePart(kubectl), 'bin');
  const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
  const followed = followGuide('cluster-api-metal3.md', { PATH }, { files });
  const report = (
    ref: Pick<KubeRef, 'kind'> & { readonly name: string },
    type: string,
    reason: string,
  ): Promise<unknown> => {
    const lastTransitionTime = '2026-11-27T06:00:00Z';
    const condition = { type, status: 'True', reason, message: '', lastTransitionTime };
    return rig.client.mergeStatus({ ...ref, namespace }, { conditions: [condition] });
  };
  // The providers' part: its host is installed once the control plane is ready.
  const available = (): Promise<unknown> =>
    report({ kind: controlPlanes, name: 'example' }, 'Installed', 'Installed');
  await Promise.race([followed, vi.waitFor(available, { timeout: 600_000, interval: 200 })]);
  await rig.client.create(bootstrapConfigs, {
    ...bootstrapConfigType,
    spec: configSpec,
    metadata: { name: 'm0', namespace, labels: { [capiNames.clusterName]: 'example' } },
  });
  await report({ kind: bootstrapConfigs, name: 'm0' }, 'Ready', 'Installed');
  await followed;
});
