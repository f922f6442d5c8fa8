// Figures of the controller of pools; as a program: its work with so many nodes, as JSON.
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { followed, type KnownObjects } from '../../src/adapters/kube/follow.ts';
import { machineConfigPools, machineConfigs, nodes as nodeKind } from '../../src/kube/kinds.ts';
import { poolControllers } from '../../src/controllers/pools/controllers.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { minutes } from '../../src/model/duration.ts';
import type { Kube, KubeObject, KubePatch, KubeRef, KubeSelection } from '../../src/ports/kube.ts';
import { runControllers } from '../../src/kube/manager.ts';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { fakeRandom } from '../../test/support/fake-random.ts';
import { patched } from '../../test/support/kube-changes.ts';
import { type Figure, peakMiBOf, percentile, run } from './process.ts';

const poolCount = 12;
const draining = 50;

interface Work {
  /** Processor time of each event, until all that follows from it is done, in seconds. */
  readonly events: readonly number[];
  /** Processor time of a minute in which each node changes once, in seconds. */
  readonly minute: number;
  readonly quietRequests: number;
  readonly peakMiB: number;
}

/** Measures the time and memory of the controller of pools in a large cluster. */
export async function measureNodeController(): Promise<readonly Figure[]> {
  const [small, large] = [await workOf(1000), await workOf(5000)];
  const with1000 = `with 1000 nodes in ${poolCount} pools, ${draining} of which drain`;
  const longest = `the change that keeps its event loop the longest ${with1000}`;
  const ofSmall = { name: 'the same of 1000 nodes', measured: small.minute };
  const quiet = `its requests ${with1000}, while nothing changes`;
  // The pods of each node that drains every five seconds, and the release twice.
  const quietBound = draining * 12 + 2;
  return [
    [`a change of a node ${with1000}, 99 of 100`, 's', percentile(small.events, 99), 0.01],
    [longest, 's', Math.max(...small.events), 0.05],
    ['a minute in which each of 5000 nodes changes once', 's', large.minute, 6, ofSmall],
    [quiet, 'requests per minute', small.quietRequests, quietBound],
    [`peak RSS of the controller of pools ${with1000}`, 'MiB', small.peakMiB, 150],
  ];
}

/** As the first line of `build/entry.ts` has Node run the product. */
const asTheProduct = ['--max-semi-space-size=1'];

async function workOf(nodes: number): Promise<Work> {
  // As the product is, whose sources are not read by the program that runs.
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-'));
  const outfile = join(folder.path, 'run.mjs');
  await build({
    entryPoints: [import.meta.filename],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: 'const require = (name) => process.getBuiltinModule(name);' },
  });
  const { stderr } = await run([process.execPath, ...asTheProduct, outfile, `${nodes}`]);
  return JSON.parse(stderr) as Work;
}

const secondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const role = (name: string): string => `node-role.kubernetes.io/${name}`;

/** A node as large as one that lists fifty images. */
function nodeOf(index: number, version: number): KubeObject {
  const drain = index < draining ? `drain-rendered-${version}` : 'uncordon-a';
  const image = `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${'a'.repeat(64)}`;
  const metadata = {
    name: `node-${index}`,
    uid: `uid-${index}`,
    resourceVersion: `${version}`,
    labels: { [role(`pool-${index % poolCount}`)]: '', version: `${version}` },
    annotations: {
      [nodeKeys.desiredConfig]: 'r1',
      [nodeKeys.currentConfig]: 'r1',
      [nodeKeys.state]: 'Done',
      [nodeKeys.desiredDrain]: drain,
      [nodeKeys.lastAppliedDrain]: index < draining ? '' : drain,
    },
  };
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: type === 'Ready' ? 'True' : 'False',
    message: `kubelet has ${version}`,
  }));
  // The trimmed object of `controllers/trim-object.ts`; the whole text is still read.
  const text = JSON.stringify({ metadata, images: Array(50).fill(image), status: { conditions } });
  const { images: _, ...node } = JSON.parse(text) as KubeObject;
  return index < draining ? { ...node, spec: { unschedulable: true } } : node;
}

const selected = (name: string): object => ({ matchLabels: { [role(name)]: '' } });

/**
 * A cluster for the controller's own watches and lists only; it does not store writes.
 */
function largeCluster(count: number) {
  const kinds: Record<string, readonly KubeObject[]> = {
    [machineConfigPools.plural]: Array.from({ length: poolCount }, (_, index) => ({
      metadata: { name: `pool-${index}`, uid: `${index}`, resourceVersion: '1' },
      spec: {
        nodeSelector: selected(`pool-${index}`),
        machineConfigSelector: selected('any'),
        configuration: { name: 'r1', source: [{ name: '00' }] },
      },
    })),
    [machineConfigs.plural]: [
      {
        metadata: { name: '00', resourceVersion: '1', labels: { [role('any')]: '' } },
        spec: { osImageURL: 'r.test/os:1', config: { ignition: { version: '3.4.0' } } },
      },
    ],
  };
  const nodes = Array.from({ length: count }, (_, index) => nodeOf(index, 1));
  const views = new Map<string, KnownObjects>();
  let requests = 0;
  const pods = Array.from({ length: 30 }, (_, index) => ({
    metadata: { name: `p${index}`, namespace: 'n', uid: `${index}`, deletionTimestamp: 'now' },
  }));
  const answer = <T>(value: T): Promise<T> => {
    requests += 1;
    return Promise.resolve(value);
  };
  const objectsOf = ({ kind, fieldSelector }: KubeSelection): readonly KubeObject[] =>
    (kinds[kind.plural] ?? []).filter(
      ({ metadata: { name } }) =>
        fieldSelector === undefined || fieldSelector === `metadata.name=${name}`,
    );
  const kube = {
    get: () => answer(undefined),
    list: (selection: KubeSelection) =>
      answer(selection.fieldSelector?.startsWith('spec.nodeName') ? pods : objectsOf(selection)),
    patch: ({ kind, name }: KubeRef, patch: KubePatch) => {
      if (kind === machineConfigPools) {
        const pools = kinds[kind.plural] ?? [];
        const objects = pools.map((one) => (one.metadata.name === name ? after(one, patch) : one));
        kinds[kind.plural] = objects;
        views.get(kind.plural)?.listed({ version: '', objects });
      }
      return answer({ metadata: { name } });
    },
    create: (_: unknown, object: KubeObject) => answer(object),
    follow: (of: KubeSelection, seen: Parameters<typeof followed>[0], signal: AbortSignal) => {
      const known = followed(seen);
      views.set(of.kind.plural, known);
      known.listed({ version: '', objects: of.kind === nodeKind ? nodes : objectsOf(of) });
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  } as Partial<Kube> as Kube;
  const change = (index: number, version: number): void => {
    views.get(nodeKind.plural)?.happened({ type: 'put', object: nodeOf(index, version) });
  };
  return { kube, change, requests: () => requests };
}

function after(pool: KubeObject, patch: KubePatch): KubeObject {
  const { metadata, ...rest } = patched(pool, patch);
  return {
    ...rest,
    metadata: { ...metadata, resourceVersion: `${Number(pool.metadata.resourceVersion) + 1}` },
  };
}

async function measure(count: number): Promise<Work> {
  const { kube, change, requests } = largeCluster(count);
  const clock = fakeClock({ auto: false });
  const scope = { kube, clock, emit: () => undefined };
  const { signal } = new AbortController();
  const pools = poolControllers({ ...scope, namespace: 'n' });
  void runControllers({ ...scope, random: fakeRandom(), signal }, pools);
  for (let second = 0; second < 10; second += 1) await clock.advance(1000);
  const events: number[] = [];
  for (let index = 0; index < 1000; index += 1) {
    // Every pool may be decided on again, so that the event waits for nothing.
    await clock.advance(1001);
    const since = process.cpuUsage();
    change((index * 7) % count, 2 + index);
    await turn();
    await turn();
    events.push(secondsOf(process.cpuUsage(since)));
  }
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) {
    change(index, 5000 + index);
    await clock.advance(minutes(1) / count);
  }
  const minute = secondsOf(process.cpuUsage(before));
  const from = requests();
  for (let second = 0; second < 60; second += 1) await clock.advance(1000);
  const peakMiB = peakMiBOf('self');
  return { events, minute, quietRequests: requests() - from, peakMiB };
}

if (process.argv[1] === import.meta.filename) {
  process.stderr.write(JSON.stringify(await measure(Number(process.argv[2]))));
  process.exit(0);
}
