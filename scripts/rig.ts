// The real API server that the lab, the tests and the benches start: where its parts are.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Kube, type KubeOptions, type KubeParts, startKube } from '../mocks/kube/start.ts';
import { ensurePart } from './parts/ensure.ts';
import { kubeApi } from './parts/kube/kube-api.ts';
import { kubeCrds, kubeData } from './parts/kube/kube-crds.ts';
import { type CachedPart, type Part, partFolder } from './parts/part.ts';

/** What a cluster with a real API server needs; the first run builds it, and says how long that takes. */
export const clusterParts: readonly Part[] = [kubeApi, kubeCrds, kubeData];

/**
 * Where the parts of the API server are; its data is made on first use.
 * @throws Error when `kube-api` or `kube-crds` is not there
 */
export async function kubeParts(): Promise<KubeParts> {
  return {
    binaries: join(placeOf(kubeApi), 'bin'),
    crds: placeOf(kubeCrds),
    data: join(await ensurePart(kubeData), 'etcd'),
  };
}

/** Starts etcd and an API server from the parts that are there; see `startKube`. */
export const startRig = async (options: KubeOptions = {}): Promise<Kube> =>
  startKube(await kubeParts(), options);

function placeOf(part: CachedPart): string {
  const place = partFolder(part);
  if (existsSync(place)) return place;
  throw new Error(`the part ${part.name} is not there; run: node scripts/parts.ts ${part.name}`);
}
