import { kubeApi } from '../../scripts/parts/kube/kube-api.ts';
import { kubeCrds } from '../../scripts/parts/kube/kube-crds.ts';
import { kubeData } from '../../scripts/parts/kube/kube-data.ts';
import type { Part } from '../../scripts/parts/part.ts';

/** A cluster that is born has a real API server; the first run builds it, and says how long that takes. */
export const clusterParts: readonly Part[] = [kubeApi, kubeCrds, kubeData];
