// Lets our client be answered, or our server be asked, with forged HTTP, and prints what went wrong as JSON:
// node forged-http-run.ts NAME [SEED]. The other side is a process of its own, so that memory and time are ours.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inventoryV1, inventoryV2 } from '../../src/adapters/http/inventory.ts';
import { web } from '../../src/adapters/http/web.ts';
import { defaultTimeouts } from '../../src/adapters/kube/api-server.ts';
import { kubeCluster } from '../../src/adapters/kube/kube.ts';
import { s3Objects } from '../../src/adapters/objects/s3.ts';
import { servePage } from '../../src/adapters/page-server.ts';
import { serveStatus } from '../../src/adapters/status-server.ts';
import type { RunEventBody } from '../../src/engine/events.ts';
import { readUpTo } from '../../src/lib/read-up-to.ts';
import { AgentError } from '../../src/model/failure.ts';
import type { Download } from '../../src/ports/inventory.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import type { RightAnswer } from './forge-http.ts';
import type { PeerOrder, PeerReport } from './forged-peer.ts';

/** Time of the processor: a second for any exchange with its retries, and a second for each 5 MB. */
const allowedMillis = (bytes: number): number => 1000 + bytes / 5000;
const inputs = 60;
/** A crowd takes seconds. */
const attacks = 30;
/** Whoever hangs is named, and not found by the limit of the suite. */
const hangs = 60_000;

const { signal } = new AbortController();
const ids = { clusterId: 'C', infraEnvId: 'I', hostId: 'H' };
const clock = quickClock(500);
const timeouts = { connect: 300, headers: 100, idle: 100 };
const common = { clock, random: fakeRandom(), connection: { timeouts } };

/** As much as any reader takes of a body that has no end. */
const most = 16 * 1024 ** 2;
const readSome = ({ body }: Download): Promise<unknown> => readUpTo(body, most);

const json = (value: unknown): RightAnswer => ({
  status: 200,
  body: Buffer.from(JSON.stringify(value)),
});
const host = {
  id: 'H',
  infra_env_id: 'I',
  requested_hostname: 'w0',
  role: 'worker',
  status: 'installing',
  inventory: '{"hostname":"w0","interfaces":[{"ipv4_addresses":["192.0.2.1/24"]}]}',
};
const cluster = json({
  id: 'C',
  name: 'c',
  status: 'installing',
  install_started_at: '2026-01-01T00:00:00Z',
  hosts: [host, { ...host, id: 'I' }],
  monitored_operators: [],
});
const refusal: RightAnswer = {
  ...json({ code: '409', reason: "Can't set progress <Writing> to host in status <cancelled>" }),
  status: 409,
};
const node = { metadata: { name: 'm0', uid: 'u', resourceVersion: '7', managedFields: [] } };
const nodes = { kind: { group: '', version: 'v1', plural: 'nodes' } } as const;
const nodeList = json({ metadata: { resourceVersion: '7' }, items: [node] });
const operator = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;
const kubeconfigFor = (url: string): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: url } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });

/** Our request, and an answer that is right. */
type Exchange = readonly [RightAnswer, (url: string) => Promise<unknown>];

interface Closing {
  readonly close: () => Promise<void>;
}

/** Asks, and closes whatever was opened for it. */
async function closing<T extends Closing>(
  client: T,
  ask: (client: T) => Promise<unknown>,
): Promise<void> {
  try {
    await ask(client);
  } finally {
    await client.close();
  }
}

const inventory =
  (ask: (service: ReturnType<typeof inventoryV2>) => Promise<unknown>) =>
  async (url: string): Promise<void> => {
    const service = inventoryV2({ url, ...ids, ...common, callLimit: 20_000, reportLimit: 20_000 });
    await closing(service, ask);
  };
const kube =
  (ask: (cluster: ReturnType<typeof kubeCluster>) => Promise<unknown>) =>
  async (url: string): Promise<void> => {
    const server = kubeCluster({
      ...common,
      credentials: () => Promise.resolve(kubeconfigFor(url)),
      emit: () => undefined,
      timeouts: { ...defaultTimeouts, ...timeouts, watch: 10_000 },
    });
    await closing(server, ask);
  };

/** By client; each seed takes the next of its requests. */
const clients: Readonly<Record<string, readonly Exchange[]>> = {
  web: [
    [
      { status: 200, body: Buffer.from('{"ignition":{"version":"3.4.0"}}') },
      async (url) => {
        const client = web({ ...common, openLimit: 20_000 });
        await closing(client, (one) => one.open(url, { signal }).then(readSome));
      },
    ],
  ],
  'the inventory service': [
    [cluster, inventory((service) => service.cluster(signal))],
    [json([host]), inventory((service) => service.namedHosts('worker', signal))],
    [cluster, inventory((service) => service.enabledHosts(signal))],
    [
      refusal,
      inventory((service) => service.report(ids, { stage: 'Rebooting', info: '' }, signal)),
    ],
    [
      json({ ignition: {} }),
      inventory((service) => service.hostIgnition('worker', signal).then(readSome)),
    ],
    [
      json([host]),
      async (url) => {
        const service = inventoryV1(
          { url, ...ids, ...common, callLimit: 20_000 },
          '/api/assisted-install/v1',
        );
        await closing(service, (one) => one.hosts('worker', signal));
      },
    ],
    [cluster, inventory((service) => service.overview(signal))],
    [
      json([{ ...operator, operator_type: 'builtin' }]),
      inventory((service) => service.operators(signal)),
    ],
  ],
  'an API server': [
    [json(node), kube((server) => server.get({ ...nodes, name: 'm0' }, signal))],
    [nodeList, kube((server) => server.list(nodes, signal))],
    [
      json(node),
      kube((server) => server.patch({ ...nodes, name: 'm0' }, { type: 'merge', body: {} }, signal)),
    ],
    [
      {
        ...json({
          kind: 'Status',
          code: 429,
          reason: 'TooManyRequests',
          message: 'x',
          details: { retryAfterSeconds: 1, causes: [{ reason: 'DisruptionBudget', message: 'y' }] },
        }),
        status: 429,
      },
      kube((server) => server.create(nodes, node, signal)),
    ],
    [
      nodeList,
      kube(async (server) => {
        const stop = new AbortController();
        const views: unknown[] = [];
        const seen = (view: unknown): void => {
          if (views.push(view) > 1) stop.abort();
        };
        const late = clock.sleep(30_000, stop.signal).then(() => {
          stop.abort();
        });
        await Promise.all([server.follow(nodes, seen, stop.signal), late.catch(() => undefined)]);
      }),
    ],
    [
      {
        status: 200,
        body: Buffer.from(
          `{"type":"ADDED","object":${JSON.stringify(node)}}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}\n`,
        ),
      },
      kube(async (server) => {
        const stop = new AbortController();
        const late = clock.sleep(30_000, stop.signal).then(() => {
          stop.abort();
        });
        await Promise.all([
          server.follow(
            { ...nodes, fieldSelector: 'metadata.name=m0' },
            () => undefined,
            stop.signal,
          ),
          late.catch(() => undefined),
        ]);
      }),
    ],
    [
      json({ resources: [{ name: 'nodes', kind: 'Node', namespaced: false }] }),
      kube((server) => server.apply({ ...node, apiVersion: 'v1', kind: 'Node' }, signal)),
    ],
  ],
  'an object store': [
    [
      { status: 200, body: Buffer.from('{"ignition":{}}') },
      async (url) => {
        const store = s3Objects({ endpoint: url, region: 'r', ...common, openLimit: 20_000 });
        await store.get('b', 'k', signal).then(readSome);
      },
    ],
    [
      {
        status: 403,
        body: Buffer.from(
          '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>',
        ),
      },
      async (url) => {
        const store = s3Objects({ endpoint: url, region: 'r', ...common, openLimit: 20_000 });
        await store.get('b', 'k', signal).then(readSome);
      },
    ],
  ],
};

interface Served {
  readonly port: number;
  readonly path: string;
  /** More connections than it takes. */
  readonly crowd: number;
  readonly close: () => Promise<void>;
}

const big = '<p>page</p>'.repeat(40_000);
const servers: Readonly<Record<string, () => Promise<Served>>> = {
  'the server of a status': async () => {
    let port = 0;
    const emit = (body: RunEventBody): void => {
      if (body.type === 'note') port = Number(body.fields['port']);
    };
    const { show, close } = await serveStatus({ host: '127.0.0.1', port: 0 }, emit);
    show('{}');
    return { port, path: '/status', crowd: 20, close };
  },
  'the server of a page': async () => {
    const patch = { now: 1, sections: [], lineCount: 0, isOver: false, lines: big };
    const page = {
      document: () => big,
      saved: () => big,
      whole: () => patch,
      changes: () => patch,
    } as unknown as Parameters<typeof servePage>[0];
    const { url, close } = await servePage(page, { host: '127.0.0.1', port: 0 });
    return { port: Number(new URL(url).port), path: '/', crowd: 40, close };
  },
};

const [name = '', only] = process.argv.slice(2);
const seeds = (count: number): readonly number[] =>
  only === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(only)];
const peer = fork(join(import.meta.dirname, 'forged-peer.ts'), { execArgv: [] });
const reported = async (): Promise<PeerReport> =>
  ((await once(peer, 'message')) as [PeerReport])[0];
const ordered = (order: PeerOrder): Promise<PeerReport> => {
  const report = reported();
  peer.send(order);
  return report;
};
const violations: string[] = [];
process.on('uncaughtException', (error) => violations.push(`uncaught: ${error.stack ?? ''}`));

async function timed(seed: number, work: () => Promise<number>): Promise<void> {
  const before = process.cpuUsage();
  const watch = setTimeout(() => {
    process.stdout.write(
      JSON.stringify({ violations: [...violations, `${seed}: hangs`], mebibytes: 0 }),
    );
    process.exit();
  }, hangs);
  const bytes = await work();
  clearTimeout(watch);
  const { user, system } = process.cpuUsage(before);
  const millis = (user + system) / 1000;
  if (millis > allowedMillis(bytes))
    violations.push(`${seed}: ${Math.round(millis)} ms for ${bytes} bytes`);
}

const { port } = await reported();
const exchanges = clients[name];
for (const seed of exchanges === undefined ? [] : seeds(inputs)) {
  const [right, ask] = exchanges![seed % exchanges!.length]!;
  await ordered({
    type: 'answer',
    seed,
    status: right.status,
    body: right.body.toString('base64'),
  });
  await timed(seed, async () => {
    try {
      await ask(`http://127.0.0.1:${port}/${seed}`);
    } catch (thrown) {
      const isMeant = thrown instanceof AgentError && thrown.code !== 'run.unexpected';
      if (!isMeant)
        violations.push(
          `${seed}: ${(thrown instanceof Error ? thrown.stack : String(thrown)) ?? ''}`,
        );
      else if (/falsy|assert\(/.test(thrown.message)) violations.push(`${seed}: ${thrown.message}`);
    }
    return (await ordered({ type: 'report' })).bytes;
  });
}
const serve = servers[name];
if (serve !== undefined) {
  const served = await serve();
  const right = `GET ${served.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  for (const seed of seeds(attacks)) {
    await timed(seed, async () => {
      const { bytes, lines } = await ordered({
        type: 'ask',
        seed,
        right,
        port: served.port,
        crowd: served.crowd,
      });
      const wrong = lines.filter((line) => line !== 'HTTP/1.1 200 OK');
      if (wrong.length > 0) violations.push(`${seed}: ${wrong.join(', ')}`);
      return bytes;
    });
  }
  await served.close();
}
if (exchanges === undefined && serve === undefined)
  throw new RangeError(`nobody is called ${name}`);
peer.disconnect();
const mebibytes = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(JSON.stringify({ violations: violations.slice(0, 5), mebibytes }));
