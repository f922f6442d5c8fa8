import { afterEach, beforeEach } from 'vitest';
import { defaultTimeouts } from '../../../src/adapters/kube/api-server.ts';
import {
  type KubeCluster,
  kubeCluster,
  type KubeOptions,
} from '../../../src/adapters/kube/kube.ts';
import type { RunEventBody } from '../../../src/engine/events.ts';
import { fakeRandom } from '../../support/fake-random.ts';
import { quickClock } from '../../support/quick-clock.ts';
import { json, type Responder, startServer, type TestServer } from './http-server.ts';

/** Unusual parts of a test's kubeconfig. */
interface KubeconfigShape {
  readonly cluster?: object;
  readonly user?: object;
}

/** A kubeconfig of one cluster and one user. */
export const kubeconfigFor = (url: string, { cluster, user }: KubeconfigShape = {}): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: url, ...cluster } }],
    users: [{ name: 'u', user: { token: 'secret', ...user } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });

/** A server on loopback with a test's answers, and clusters connected to it. */
interface KubeStand {
  readonly server: TestServer;
  /** Events of the clusters. */
  readonly notes: readonly RunEventBody[];
  readonly cluster: (more?: Partial<KubeOptions>) => KubeCluster;
  /** All requests, as `GET /path`. */
  readonly asked: () => readonly string[];
}

/** Gives each test of a file a server without objects. */
export function kubeStand(): KubeStand {
  let server: TestServer;
  let notes: RunEventBody[] = [];
  let opened: KubeCluster[] = [];
  beforeEach(async () => {
    server = await startServer(json(404, {}));
    [notes, opened] = [[], []];
  });
  afterEach(async () => {
    await Promise.all(opened.map((cluster) => cluster.close()));
    await server.close();
  });
  return {
    get server() {
      return server;
    },
    get notes() {
      return notes;
    },
    cluster: (more = {}) => {
      const made = kubeCluster({
        credentials: () => Promise.resolve(kubeconfigFor(server.url)),
        clock: quickClock(50),
        random: fakeRandom(),
        emit: (event) => notes.push(event),
        // The clock runs 50 times as fast; the timers of its connections do not.
        timeouts: { ...defaultTimeouts, connect: 20_000, headers: 20_000, idle: 20_000 },
        ...more,
      });
      opened.push(made);
      return made;
    },
    asked: () => server.seen.map(({ method, path }) => `${method} ${path}`),
  };
}

/** Answers with a Status object. */
export const status = (code: number, more: object = {}): Responder => json(code, { code, ...more });

/** The node m0 in a version. */
export const node = (version: number, more: object = {}): object => ({
  metadata: { name: 'm0', uid: 'u', resourceVersion: String(version) },
  ...more,
});
