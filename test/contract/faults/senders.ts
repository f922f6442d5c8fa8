import { inventoryOf } from '../../../src/adapters/http/inventory.ts';
import type { ConnectionTimeouts } from '../../../src/adapters/http/connection.ts';
import { web } from '../../../src/adapters/http/web.ts';
import { defaultTimeouts } from '../../../src/adapters/kube/api-server.ts';
import { type KubeCluster, kubeCluster } from '../../../src/adapters/kube/kube.ts';
import { s3Objects } from '../../../src/adapters/objects/s3.ts';
import { AgentError } from '../../../src/model/failure.ts';
import { Secret } from '../../../src/model/secret.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Download, Inventory } from '../../../src/ports/inventory.ts';
import type { KubeView } from '../../../src/ports/kube.ts';
import { fakeRandom } from '../../support/fake-random.ts';
import type { TestServer } from '../real/http-server.ts';
import { kubeconfigFor } from '../real/kube-stand.ts';
import type { Ending, requestKinds } from './requests.ts';

/** Inputs of a request. */
interface Sending {
  readonly server: TestServer;
  readonly clock: Clock;
  /** Default: the product's timeouts. */
  readonly timeouts: ConnectionTimeouts | undefined;
  readonly ending: Ending;
}

/** The outcome; without code on success. */
interface Outcome {
  readonly code: string | undefined;
  readonly message: string;
}

type Sender = (sending: Sending) => Promise<Outcome>;

const worked: Outcome = { code: undefined, message: '' };

async function outcomeOf(work: Promise<unknown>): Promise<Outcome> {
  try {
    await work;
    return worked;
  } catch (error) {
    if (error instanceof AgentError) return { code: error.code, message: error.message };
    throw error;
  }
}

const { signal } = new AbortController();
const ids = { clusterId: 'C', infraEnvId: 'I', hostId: 'H' };
const token = new Secret('token');

/** Options for adapters over HTTP. */
const common = ({ clock, timeouts }: Sending) => ({
  clock,
  random: fakeRandom(),
  connection: timeouts === undefined ? {} : { timeouts },
});

/** Bytes to read from an endless body. */
const enough = 4 * 2 ** 20;

async function readSome({ body }: Download): Promise<void> {
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > enough) return;
  }
}

const inventory =
  (request: (service: Inventory) => Promise<unknown>): Sender =>
  (sending) =>
    outcomeOf(
      request(inventoryOf('v2', { url: sending.server.url, token, ...ids, ...common(sending) })),
    );

const kubeOf = ({ server, clock, timeouts }: Sending): KubeCluster =>
  kubeCluster({
    credentials: () => Promise.resolve(kubeconfigFor(server.url)),
    clock,
    random: fakeRandom(),
    emit: () => undefined,
    timeouts: { ...defaultTimeouts, ...timeouts },
  });

const kube =
  (request: (cluster: KubeCluster) => Promise<unknown>): Sender =>
  async (sending) => {
    const cluster = kubeOf(sending);
    const outcome = await outcomeOf(request(cluster));
    await cluster.close();
    return outcome;
  };

/** Whether a path of the API server is a watch. */
export const isWatch = (path: string): boolean => path.includes('watch=true');

const nodes = { group: '', version: 'v1', plural: 'nodes' };
const m0 = { kind: nodes, name: 'm0' };

/** Follows until the expected failure is shown, or until a third request without one. */
const followed: Sender = async (sending) => {
  const { server, ending } = sending;
  const cluster = kubeOf(sending);
  const stop = new AbortController();
  let shown: KubeView['lastError'];
  const seen = ({ lastError }: KubeView): void => {
    shown = lastError;
    if (lastError !== undefined) stop.abort();
  };
  const looking = setInterval(() => {
    const paths = server.seen.map(({ path }) => path);
    const asked = paths.some(isWatch) ? paths.filter(isWatch) : paths;
    if (ending.code === undefined && asked.length > 3) stop.abort();
  }, 5);
  await cluster.follow({ kind: nodes }, seen, stop.signal);
  clearInterval(looking);
  await cluster.close();
  return shown === undefined ? worked : { code: shown.code, message: shown.message };
};

/** Functions that send each request of the table to a server. */
export const senders: Readonly<Record<keyof typeof requestKinds, Sender>> = {
  report: inventory((v2) => v2.report(ids, { stage: 'Installing', info: '' }, signal)),
  'state of logs': inventory((v2) => v2.logsState(ids, 'collecting', signal)),
  'upload of the logs of the controller': inventory((v2) =>
    v2.uploadControllerLogs(Buffer.alloc(100_000), signal),
  ),
  'operators that are monitored': inventory((v2) => v2.operators(signal)),
  cluster: inventory((v2) => v2.cluster(signal)),
  'enabled hosts': inventory((v2) => v2.enabledHosts(signal)),
  'Ignition of the host': inventory((v2) => v2.hostIgnition('worker', signal).then(readSome)),
  'download of a URL: image, stream metadata, Ignition': (sending) =>
    outcomeOf(web(common(sending)).open(sending.server.url, { signal }).then(readSome)),
  'object of a store': (sending) => {
    const options = { endpoint: sending.server.url, region: 'us-east-1', ...common(sending) };
    return outcomeOf(s3Objects(options).get('bucket', 'key', signal).then(readSome));
  },
  'get of an object': kube((cluster) => cluster.get(m0, signal)),
  'create of an object': kube((cluster) =>
    cluster.create({ kind: nodes }, { metadata: { name: 'm0' } }, signal),
  ),
  'list of what is followed': followed,
  'watch of what is followed': followed,
};
