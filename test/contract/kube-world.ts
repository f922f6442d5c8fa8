import type { Kube, KubeKind, KubeObject, KubeRef } from '../../src/ports/kube.ts';

/** A Kube with its cluster, as the suite for every Kube needs them. */
export interface KubeWorld {
  readonly kube: Kube;
  /** Stores an object without the port. */
  readonly put: (kind: KubeKind, object: KubeObject) => Promise<void>;
  /** Removes an object without the port. */
  readonly drop: (ref: KubeRef) => Promise<void>;
  /** Stops the API server; `back` starts it again. */
  readonly away: () => Promise<void>;
  readonly back: () => Promise<void>;
  /** Changes the cluster without followers seeing it, and drops the history of the change. */
  readonly unseen: (change: () => Promise<void>) => Promise<void>;
}
