// The real API server that the lab, the tests and the benches start: where its parts are.
import { join } from 'node:path';
import { type Kube, type KubeOptions, type KubeParts, startKube } from '../mocks/kube/start.ts';
import { ensureParts } from './parts/ensure.ts';
import { kubeApi } from './parts/kube/kube-api.ts';
import { kubeCrds, kubeData } from './parts/kube/kube-crds.ts';
import type { Part } from './parts/part.ts';

/**
 * The parts of a cluster with a real API server; the first run builds them and prints how long
 * that takes.
 */
export const clusterParts: readonly Part[] = [kubeApi, kubeCrds, kubeData];

/** The folders of the parts of the API server; missing parts are built first. */
export async function kubeParts(): Promise<KubeParts> {
  const [api = '', crds = '', data = ''] = await ensureParts(clusterParts);
  return { binaries: join(api, 'bin'), crds, data: join(data, 'etcd') };
}

/** Starts etcd and an API server from the parts; see `startKube`. */
export const startRig = async (options: KubeOptions = {}): Promise<Kube> =>
  startKube(await kubeParts(), options);
