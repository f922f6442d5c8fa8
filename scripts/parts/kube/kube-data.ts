import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { startControlPlane } from '../../../mocks/kube/control-plane.ts';
import { applyCrds } from '../../../mocks/kube/crds.ts';
import { type BuildSite, type CachedPart, PartError } from '../part.ts';
import { kubeApi } from './kube-api.ts';
import { kubeCrds, type KeptFeatureSet } from './kube-crds.ts';

const featureSet: KeptFeatureSet = 'Default';
const rig = resolve(import.meta.dirname, '../../../mocks/kube');

/** The data of an etcd whose API server has all of OpenShift's kinds, at `etcd`: copied, it saves their applying. */
export const kubeData: CachedPart = {
  kind: 'cached',
  name: 'kube-data',
  purpose: "the data of an etcd with OpenShift's kinds",
  pin: featureSet,
  cost: '15 seconds, 10 MB',
  tools: [],
  inputs: [kubeApi, kubeCrds],
  files: [import.meta.filename, join(rig, 'server-flags.ts')],
  build: async (site) => {
    const folder = await mkdtemp(join(tmpdir(), 'bootwright-kube-data-'));
    try {
      await fillEtcd(site, folder);
    } catch (error) {
      throw new PartError(`kube-data: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function fillEtcd(site: BuildSite, folder: string): Promise<void> {
  const plane = await startControlPlane(join(site.input(kubeApi), 'bin'), folder);
  try {
    const server = await plane.addServer('api');
    await applyCrds(server.client, join(site.input(kubeCrds), featureSet), 'all');
    await server.stop();
    await plane.etcd.stop();
  } finally {
    await plane.close();
  }
  // What etcd reserves ahead is empty, and made again at its next start.
  rmSync(join(folder, 'etcd', 'member', 'wal', '0.tmp'), { force: true });
  const data = join(folder, 'etcd');
  await site.log.run({ argv: ['cp', '--recursive', '--sparse=always', data, site.folder] });
}
