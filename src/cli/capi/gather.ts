import { gunzipSync } from 'node:zlib';
import { writeBundle } from '../../adapters/bundle-file.ts';
import { systemClock } from '../../adapters/clock.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import {
  bootstrapConfigs,
  capiMachines,
  capiNames,
  clusters,
  type ContractRef,
  controlPlanes,
  logKey,
  machineHealthChecks,
  ownNames,
  providerNames,
} from '../../capi/api.ts';
import { contractKind, secretBytes } from '../../capi/objects.ts';
import { assetsApp } from '../../capi/control-plane/installer-jobs.ts';
import { secretsIn } from '../../capi/known-secrets.ts';
import { namespaceOf, providers } from '../../capi/manager.ts';
import { events, jobs, pods, secrets } from '../../cluster/kinds.ts';
import { momentOf } from '../../config/complete.ts';
import { asAgentError } from '../../engine/failures.ts';
import { listAt, partOf } from '../../layering/api/cluster-object.ts';
import { withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { packArchive } from '../../lib/archive.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { masker } from '../../lib/masker.ts';
import { seconds } from '../../model/duration.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { version } from '../../model/version.ts';
import {
  type KubeKind,
  type KubeObject,
  type KubeSelection,
  selectionOf,
} from '../../ports/kube.ts';
import {
  asYaml,
  collect,
  type Collector,
  eventLines,
  listedOnce,
  podShape,
} from '../../steps/logs/collectors.ts';
import { type ClusterCall, type ClusterTarget, clusterTarget } from '../cluster.ts';
import { manifestFile } from '../logs/read.ts';
import { print, printNote } from '../messages.ts';
import { untilStopped } from '../stop-signal.ts';
import { capiFailure } from './folder.ts';

/** Arguments of `capi gather`. */
interface GatherCall extends ClusterCall {
  readonly output?: string;
}

/** What one file of a bundle may be, and what it may take. */
const limits = { mostBytes: 4 * 1024 * 1024, limit: seconds(60) };
const atOnce = 8;

/**
 * Writes one archive with all that says how the installation of a Cluster fares (R45): objects, events, logs. No value of a Secret is in it. What cannot be
 * read, or may not be, is named in its manifest and on standard error.
 * @throws AgentError `capi.cluster-not-found`, `capi.not-written`, `kube.*` where nothing can be read; as `clusterTarget`
 */
export async function runCapiGather(call: GatherCall): Promise<number> {
  await using opened = await clusterTarget('capi gather', call, { denials: 'final' });
  const target = { ...opened, kube: { ...opened.kube, list: listedOnce(opened.kube) } };
  return await untilStopped(async (signal) => {
    const files = await gathered(target, signal);
    const now = systemClock.now();
    const missing = files.filter((file) => file.missing !== undefined);
    const { namespace, name } = target;
    const manifest = {
      ...{ v: 1, version, cluster: `${namespace}/${name}`, gathered: new Date(now).toISOString() },
      files: files.map((file) => ({ ...file, text: undefined })),
    };
    const packed = await packArchive(
      [
        { name: manifestFile, text: `${JSON.stringify(manifest, undefined, 2)}\n` },
        ...files,
      ].flatMap(({ name: file, text }) =>
        text === undefined ? [] : [{ name: file, text, mode: 0o600 }],
      ),
      now,
    );
    const { output = `bootwright-${namespace}-${name}-${momentOf(now)}.tar.gz` } = call;
    await writeBundle(output, packed).catch((cause: unknown) => {
      throw capiFailure('capi.not-written', `${output} cannot be written`, { cause });
    });
    for (const file of missing) printNote('note', `not in it: ${file.name}: ${file.missing ?? ''}`);
    print(`wrote ${output}\n`);
    return 0;
  });
}

/** A file of the bundle, or why it is not in it. */
interface GatheredFile {
  readonly name: string;
  readonly what: string;
  readonly bytes?: number;
  /** Bytes of the whole, of which only the end is in it. */
  readonly of?: number;
  readonly missing?: string;
  readonly text?: string;
}

/** What is collected, and what is found of it before. */
type Row = Pick<Collector, 'name' | 'what' | 'from'>;

async function gathered(
  target: ClusterTarget,
  signal: AbortSignal,
): Promise<readonly GatheredFile[]> {
  const { kube, namespace, name } = target;
  const cluster = await kube
    .get({ kind: clusters, namespace, name }, signal)
    .catch((error: unknown) => {
      if (isForbidden(error)) return null;
      throw error;
    });
  if (cluster === undefined)
    throw capiFailure('capi.cluster-not-found', `Cluster ${namespace}/${name} is not there`);
  const { mask, register } = masker();
  const hide = (text: string): string => withoutSecretLooks(mask(text));
  const missing: GatheredFile[] = [];
  /** Objects that further rows are made from; why there are none is a file that is missing. */
  const listed = (what: string, selection: KubeSelection): Promise<readonly KubeObject[]> =>
    kube.list(selection, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      missing.push({ name: what, what, missing: asAgentError(error).message });
      return [];
    });
  const found = await listed('secrets of the namespace', { kind: secrets, namespace });
  for (const secret of found.flatMap(secretsIn)) register(secret);
  const own: Record<string, () => Promise<string>> = {};
  const given = (file: string, what: string, text: string): Row => {
    own[file] = () => Promise.resolve(text);
    return { name: file, what, from: { own: true } };
  };
  const rows = [
    ...objectRows(target),
    ...(await infrastructureRows(target, cluster, signal)),
    given('secrets.yaml', 'its Secrets without their values', asYaml(found.map(secretShape))),
    ...found.flatMap((secret) => {
      const log = logIn(secret);
      const host = secret.metadata.name.replace(/-log$/, '');
      return log === undefined ? [] : [given(`host-${host}.log`, 'the end of its log', log)];
    }),
    ...(await podRows('job', listed, { kind: pods, namespace, labelSelector: `app=${assetsApp}` })),
  ];
  for (const provider of providers) {
    const app = provider === 'bootstrap' ? providerNames.bootstrap : providerNames.controlPlane;
    const selection = {
      ...{ kind: pods, namespace: namespaceOf(provider) },
      labelSelector: `cluster.x-k8s.io/provider=${app}`,
    };
    rows.push(...(await podRows(`manager-${provider}`, listed, selection)));
  }
  const reach = { clock: systemClock, host: localHost(), kube, signal, own };
  const inTurn = inTurns(atOnce);
  const files = await Promise.all(
    rows.map((row) =>
      inTurn(async () => fileOf(row, await collect({ ...limits, ...row }, reach, hide))),
    ),
  );
  signal.throwIfAborted();
  return [...files, ...missing].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function fileOf({ name, what }: Row, collected: Awaited<ReturnType<typeof collect>>): GatheredFile {
  if ('missing' in collected) return { name, what, missing: collected.missing };
  const { text, bytes, size } = collected;
  return { name, what, text, bytes, ...(size > 2 * limits.mostBytes ? { of: size } : {}) };
}

const rowOf = (objects: KubeSelection, what: string): Row => ({
  ...{ name: `${objects.kind.plural}.yaml`, what, from: { objects, show: shownObjects } },
});

const core = (plural: string): KubeKind => ({ ...capiMachines, plural });

/** Kinds of a Cluster, and whether it is found by its name. */
function objectRows({ namespace, name }: ClusterTarget): readonly Row[] {
  const labelSelector = `${capiNames.clusterName}=${name}`;
  const rows = [controlPlanes, bootstrapConfigs, capiMachines, core('machinesets')];
  return [
    rowOf(selectionOf({ kind: clusters, namespace, name }), 'the Cluster'),
    ...[...rows, core('machinedeployments'), machineHealthChecks].map((kind) =>
      rowOf({ kind, namespace, labelSelector }, `its ${kind.plural}`),
    ),
    rowOf({ kind: jobs, namespace, labelSelector: `app=${assetsApp}` }, 'Jobs of the installer'),
    {
      ...{ name: 'events.txt', what: 'events of the namespace' },
      from: { objects: { kind: events, namespace }, show: eventLines },
    },
  ];
}

/** The kinds of infrastructure that Cluster, control plane and Machines refer to. */
async function infrastructureRows(
  { kube, namespace, name }: ClusterTarget,
  cluster: KubeObject | null,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const labelSelector = `${capiNames.clusterName}=${name}`;
  const found = await Promise.all(
    [controlPlanes, capiMachines].map((kind) =>
      kube.list({ kind, namespace, labelSelector }, signal).catch((): readonly KubeObject[] => []),
    ),
  );
  const refs = [...(cluster === null ? [] : [cluster]), ...found.flat()].flatMap((object) =>
    [['spec'], ['spec', 'machineTemplate', 'spec']].flatMap((path) => {
      const ref = partOf(object, ...path, 'infrastructureRef') as ContractRef | undefined;
      return ref === undefined ? [] : [ref];
    }),
  );
  const byKind = new Map(refs.map((ref) => [`${ref.apiGroup}/${ref.kind}`, ref]));
  const kinds = await Promise.all(
    [...byKind.values()].map((ref) => contractKind(kube, ref, signal).catch(() => undefined)),
  );
  return kinds.flatMap((one) =>
    one === undefined ? [] : [rowOf({ kind: one.kind, namespace }, 'infrastructure')],
  );
}

/** Pods, and the logs of all their containers. */
async function podRows(
  prefix: string,
  listed: (what: string, selection: KubeSelection) => Promise<readonly KubeObject[]>,
  selection: KubeSelection,
): Promise<readonly Row[]> {
  const found = await listed(`${prefix}-*.log`, selection);
  const logs = found.flatMap((pod) =>
    ['initContainers', 'containers'].flatMap((list) =>
      listAt(pod, 'spec', list).map((one): Row => {
        const { name: container } = one as { readonly name: string };
        const { name, namespace = '' } = pod.metadata;
        const podLog = { namespace, name, container };
        return {
          name: `${prefix}-${name}-${container}.log`,
          what: 'the log of a container',
          from: { podLog },
        };
      }),
    ),
  );
  const show = (all: readonly KubeObject[]): string => asYaml(all.map(podShape));
  return [
    { name: `${prefix}-pods.yaml`, what: 'how its pods fare', from: { objects: selection, show } },
    ...logs,
  ];
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Objects without what a user may have written as a secret: an Ignition, and the copy of the whole that kubectl keeps. */
const shownObjects = (objects: readonly KubeObject[]): string =>
  asYaml(
    objects.map(
      (object) =>
        JSON.parse(
          JSON.stringify(object, (name, value: unknown) => {
            if (name === lastApplied) return undefined;
            return name === 'ignitionConfigOverride'
              ? `(${String(value).length} characters)`
              : value;
          }),
        ) as object,
    ),
  );

const secretShape = (secret: KubeObject): object => {
  const { metadata, type, data } = secret;
  const { name, labels, creationTimestamp } = metadata;
  const sizes = Object.keys(data ?? {}).map((key): readonly [string, string] => [
    key,
    `(${secretBytes(secret, key)?.length ?? 0} bytes)`,
  ]);
  return { metadata: { name, labels, creationTimestamp }, type, data: Object.fromEntries(sizes) };
};

/** The log of a host that a Secret keeps. */
function logIn(secret: KubeObject): string | undefined {
  if (secret.metadata.labels?.[ownNames.hostLog] === undefined) return undefined;
  try {
    const bytes = secretBytes(secret, logKey) ?? Buffer.alloc(0);
    return gunzipSync(bytes, { maxOutputLength: limits.mostBytes }).toString();
  } catch {
    return undefined;
  }
}
