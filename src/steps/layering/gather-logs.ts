import { stringify } from 'yaml';
import {
  events,
  jobs,
  machineConfigNodes,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
} from '../../cluster/kinds.ts';
import { containerLogs, isMcsLog } from '../../cluster/mcs-log.ts';
import { asAgentError } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { isOperatorKey, listAt, partOf, textAt } from '../../layering/api/cluster-object.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { containerfileFile } from '../../layering/build/build-plan.ts';
import {
  type Bounds,
  bundleFolder,
  credentialsIn,
  endOf,
  folderThatIsSent,
  isLongEnough,
  isRendered,
  machineConfigShape,
  type PullSecretContent,
  usualBounds,
  withoutSecretLooks,
} from '../../layering/registry/log-secrets.ts';
import {
  operatorNamespace,
  registrySecretOf,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { isRendererLog, poolsFolder, renderedFolder } from '../../layering/manifests/delivery.ts';
import { pullSecretIn } from '../../layering/registry/credentials.ts';
import {
  registryContainer,
  stagingFiles,
  stagingPlaces,
} from '../../layering/registry/staging-registry.ts';
import { readObjects, type SourceObject } from '../../layering/api/source-object.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import type { KubeObject, KubeSelection } from '../../ports/kube.ts';
import { buildsOsImages } from '../conditions.ts';
import { collect, type Collector, type Hide, outputOf, workLimit } from '../logs/collect.ts';
import { step, type StepScope, noteFailed } from '../step.ts';
import { storageRun } from './build-images.ts';
import { unlessRequested } from './conditions.ts';
import {
  blockPathUnit,
  blockServiceUnit,
  servePathUnit,
  serveServiceUnit,
} from './config-server.ts';
import { BuildRequest } from './facts.ts';
import { asideFolders } from './os-configs.ts';

type GatherScope = StepScope<'host' | 'kube' | 'clock'>;

const folderArgv = ['install', '--directory', '--mode', '0700', bundleFolder] as const;

/** The commands that put a copy beside the other logs that the service is sent. */
const copyCommands = (hostId: string): readonly (readonly string[])[] => {
  const to = folderThatIsSent(hostId);
  return hostId === ''
    ? []
    : [
        ['install', '--directory', '--mode', '0700', to],
        ['cp', '--recursive', `${bundleFolder}/.`, to],
      ];
};

const gathering = {
  uses: ['host', 'kube', 'clock'],
  // Each of its commands has a limit of its own; together they stay far below.
  limit: minutes(15),
  preview: ({ cluster }: GatherScope['config']) => [
    folderArgv,
    ...Object.values(commands),
    ...copyCommands(cluster.hostId),
  ],
} as const;

/** Keeps what is known of the images before what was built is cleared off the disk; the logs are sent after it. */
export const gatherLogs = step({
  ...gathering,
  id: 'layering/gather-logs',
  title: 'Gather the logs of the image builds',
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  run: (scope) => gather(scope, 'before the host leaves'),
});

/**
 * The same after a failure, while the service hears of it: workLimit two minutes it asks for the logs of the host,
 * and stops what still runs. It asks for no fact, since nobody knows how far the run came; a host without orders
 * has nothing of this.
 */
export const gatherLogsAtTheEnd = step({
  ...gathering,
  id: 'layering/gather-logs-at-the-end',
  title: 'Gather the logs of the image builds, also after a failure',
  when: buildsOsImages,
  run: async (scope) => {
    const setAside = await scope.host.list(asideFolders.osConfigs, scope.signal);
    if (setAside.length > 0 && !(await isGathered(scope))) await gather(scope, 'after a failure');
  },
});

type Occasion = 'before the host leaves' | 'after a failure';

/** The first line of the index. */
const titleOf = (occasion: Occasion): string => `gathered ${occasion}`;

/** The build is removed, and its logs were gathered before. */
async function isGathered({ host, signal }: GatherScope): Promise<boolean> {
  const isCleared = (await host.realPath(stagingPlaces().work, signal)) === undefined;
  const index = isCleared ? await host.readText(`${bundleFolder}/index.txt`, signal) : undefined;
  return index?.startsWith(titleOf('before the host leaves')) === true;
}

/** Logs are never worth an installation: a failure to gather them is a warning. */
async function gather(scope: GatherScope, occasion: Occasion): Promise<void> {
  const { host, signal, config, note } = scope;
  const run = (argv: readonly string[]): Promise<unknown> =>
    host.exec(argv, { signal, limit: seconds(30) });
  try {
    await run(folderArgv);
    const { hide, sources } = await readKnownSecrets(scope);
    const bundle = openBundle(scope, hide);
    const credentials = (): Promise<string> => Promise.resolve(JSON.stringify(sources, null, 2));
    await bundle.add({ name: 'credentials.json', read: credentials });
    for (const row of await hostFiles(scope)) await bundle.add(row);
    // Beside each other: the host reboots soon, and none of them needs another.
    await Promise.all(hostCommands.map(bundle.add));
    await addClusterLogs(scope, bundle.add);
    await bundle.close(titleOf(occasion));
    for (const argv of copyCommands(config.cluster.hostId)) await run(argv);
  } catch (error) {
    noteFailed({ signal, note }, 'the logs of the image builds are not gathered', error);
  }
}

/** A row of the bundle; how much of it is kept is the same for all. */
type Row = Omit<Collector<GatherScope>, 'mostBytes'>;

/** A bundle that is being filled. */
interface Bundle {
  /** Writes what a row gives. What cannot be read is in the index instead; what is not there is in neither. */
  readonly add: (row: Row) => Promise<void>;
  /** Writes the index, last, under a title. */
  readonly close: (title: string) => Promise<void>;
}

/** Opens the bundle of this host. */
export function openBundle(scope: GatherScope, hide: Hide, bounds: Bounds = usualBounds): Bundle {
  const { host, signal } = scope;
  const index: string[] = [];
  let room = bounds.bundle;
  const write = (name: string, text: string): Promise<unknown> =>
    host.writeFile(`${bundleFolder}/${name}`, text, { signal, mode: 0o600 });
  return {
    add: async ({ name, ...row }) => {
      const found = await collect({ ...row, name, mostBytes: bounds.chunk }, scope, hide);
      signal.throwIfAborted();
      if ('missing' in found) {
        if (!found.isAbsent) index.push(`${name}: ${found.missing}`);
        return;
      }
      const text = endOf(found.text, Math.min(bounds.chunk, room));
      room = Math.max(0, room - text.length);
      try {
        await write(name, text);
        index.push(`${name}: ${text.length} of ${found.size} bytes`);
      } catch (error) {
        signal.throwIfAborted();
        index.push(`${name}: ${asAgentError(error).message}`);
      }
    },
    close: async (title) => {
      await write('index.txt', `${[title, ...index].join('\n')}\n`);
    },
  };
}

const { mount, data, storage, scratch } = stagingPlaces();

const journalArgv = (...matches: readonly string[]): readonly string[] => [
  ...['journalctl', '--no-pager', '--output=short-iso', '--lines=5000'],
  ...matches,
];

const units = [
  ...[blockPathUnit, blockServiceUnit, servePathUnit, serveServiceUnit],
  ...['bootkube.service', 'kubelet.service', 'crio.service'],
  ...['release-image.service', 'node-image-pull.service', 'node-image-overlay.service'],
];

const ownStore = [
  ...['podman', '--root', storage, '--runroot', storageRun],
  ...['--storage-driver', 'overlay'],
];

/** The commands whose output is kept, by the name of its file; none changes anything. */
const commands: Readonly<Record<string, readonly string[]>> = {
  'registry.log': journalArgv(`CONTAINER_NAME=${registryContainer}`),
  'units.log': journalArgv(...units.map((unit) => `--unit=${unit}`)),
  'podman-info.txt': ['podman', 'info'],
  'podman-containers.txt': ['podman', 'ps', '--all'],
  'podman-images.txt': ['podman', 'images', '--digests'],
  'built-images.txt': [...ownStore, 'images', '--digests'],
  'buildah-info.txt': ['buildah', 'info'],
  'registry-tags.txt': [
    ...['find', `${data}/docker/registry/v2/repositories`, '-path', '*/_manifests/tags/*'],
    ...['-name', 'link'],
  ],
  'disk-space.txt': ['df', '--human-readable'],
  'memory.txt': ['free', '--mebi'],
  'rendered-files.txt': ['ls', '-l', '--recursive', '/etc/mcs/bootstrap'],
  'written-disk.txt': ['ostree', 'admin', 'status', `--sysroot=${mount}`],
};

const hostCommands: readonly Row[] = Object.entries(commands).map(([name, argv]) => ({
  name,
  read: (scope) => outputOf(scope, argv),
}));

/** The files and logs of the host that are kept. */
async function hostFiles({ host, signal }: GatherScope): Promise<readonly Row[]> {
  const file = (name: string, path: string): Row => ({
    name,
    read: () => host.readText(path, signal),
  });
  const filesIn = async (folder: string, prefix: string): Promise<readonly Row[]> =>
    (await host.list(folder, signal)).map((name) => file(`${prefix}${name}`, `${folder}/${name}`));
  const built = (await host.list(scratch, signal)).flatMap((pool) => [
    file(`${pool}-Containerfile`, `${scratch}/${pool}/context/${containerfileFile}`),
    file(`${pool}-build.log`, `${scratch}/${pool}/build.log`),
    file(`${pool}-digest`, `${scratch}/${pool}/digest`),
  ]);
  const rendered = (await host.list(renderedFolder, signal)).filter(isRendered).map((name) => ({
    name,
    read: async () => {
      const path = `${renderedFolder}/${name}`;
      const text = await host.readText(path, signal);
      const objects = text === undefined ? [] : readObjects({ path, text });
      return objects.map(({ value }) => machineConfigShape(value)).join('---\n');
    },
  }));
  const logs = (await host.list(containerLogs, signal))
    .filter((name) => isRendererLog(name) || isMcsLog(name))
    .map((name) => ({
      name: `container-${name}`,
      read: async () => {
        const path = await host.realPath(`${containerLogs}/${name}`, signal);
        return path === undefined ? undefined : host.readText(path, signal);
      },
    }));
  return [
    file('kernel-arguments.txt', '/proc/cmdline'),
    file('registries.conf', '/etc/containers/registries.conf'),
    file('policy.json', '/etc/containers/policy.json'),
    ...(await filesIn(asideFolders.osConfigs, 'os-config-')),
    ...built,
    ...(await filesIn(poolsFolder, 'pool-')),
    ...rendered,
    ...logs,
  ];
}

/** An API server that does not answer must not delay a report of the failure. */
const longestAnswer = seconds(20);

const asYaml = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');

/** Of a node only what the Machine Config Operator goes by. */
const nodeShape = ({ metadata, status }: KubeObject): object => {
  const { name, labels, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(([key]) => isOperatorKey(key));
  const conditions = (status as { readonly conditions?: unknown } | undefined)?.conditions;
  return {
    metadata: { name, labels, annotations: Object.fromEntries(own) },
    status: { conditions },
  };
};

/** In a large cluster there is a daemon on every node. */
const mostLogs = 20;

const daemon = 'machine-config-daemon';
const proxy = 'kube-rbac-proxy';

/** Of a pod where it runs and how it fares; nothing of what it was given. */
const podShape = ({ metadata, spec, status }: KubeObject): object => {
  const { name, labels, creationTimestamp } = metadata;
  const { nodeName } = (spec ?? {}) as { readonly nodeName?: string };
  return { metadata: { name, labels, creationTimestamp }, spec: { nodeName }, status };
};

interface PodLog {
  readonly pod: string;
  readonly container: string;
}

/** The controllers and builds first; what checks who asks for metrics has nothing to say. */
function logsOf(found: readonly KubeObject[]): readonly PodLog[] {
  const all = found.flatMap((object) =>
    listAt(object, 'spec', 'containers').flatMap((one): readonly PodLog[] => {
      const { name: container } = one as { readonly name: string };
      return container === proxy ? [] : [{ pod: object.metadata.name, container }];
    }),
  );
  const isOfDaemon = ({ container }: PodLog): boolean => container === daemon;
  return [...all.filter((one) => !isOfDaemon(one)), ...all.filter(isOfDaemon)].slice(0, mostLogs);
}

/** A line for each event, the oldest first. */
const eventLines = (found: readonly KubeObject[]): string =>
  found
    .map((event) => ({ event, at: timeOf(event) }))
    .toSorted((one, other) => one.at.localeCompare(other.at))
    .map(({ event, at }) => {
      const object = `${textAt(event, 'involvedObject', 'kind')}/${textAt(event, 'involvedObject', 'name')}`;
      const times = partOf(event, 'count');
      const often = typeof times === 'number' && times > 1 ? ` (${times} times)` : '';
      return `${at} ${textAt(event, 'type')} ${textAt(event, 'reason')} ${object}: ${textAt(event, 'message')}${often}\n`;
    })
    .join('');

const timeOf = (event: KubeObject): string =>
  textAt(event, 'lastTimestamp') ||
  textAt(event, 'eventTime') ||
  (event.metadata.creationTimestamp ?? '');

/** What the API shows of the pools, their images and nodes, and of what happened to their operator. */
const shownObjects: readonly (KubeSelection & {
  readonly name: string;
  readonly show: (objects: readonly KubeObject[]) => string;
})[] = [
  { name: 'machineosconfigs.yaml', kind: machineOSConfigs, show: asYaml },
  { name: 'machineosbuilds.yaml', kind: machineOSBuilds, show: asYaml },
  { name: 'machineconfigpools.yaml', kind: machineConfigPools, show: asYaml },
  { name: 'machineconfignodes.yaml', kind: machineConfigNodes, show: asYaml },
  { name: 'jobs.yaml', kind: jobs, namespace: operatorNamespace, show: asYaml },
  { name: 'nodes.yaml', kind: nodes, show: (objects) => asYaml(objects.map(nodeShape)) },
  {
    name: 'machineconfigs.yaml',
    kind: machineConfigs,
    show: (objects) =>
      objects
        .filter(({ metadata }) => isRendered(metadata.name))
        .map((object) => machineConfigShape(object as unknown as Fields))
        .join('---\n'),
  },
  { name: 'events.txt', kind: events, namespace: operatorNamespace, show: eventLines },
];

/** An installation is shorter. */
const sinceSeconds = 24 * 3600;

/** Adds what the API shows, and the pods of the Machine Config Operator with their logs; none before the API server runs. */
async function addClusterLogs(scope: GatherScope, add: Bundle['add']): Promise<void> {
  const namespace = operatorNamespace;
  const found = limited(scope.clock, workLimit(longestAnswer, scope.signal), (signal) =>
    scope.kube.list({ kind: pods, namespace }, signal),
  );
  const objects = shownObjects.map(({ name, show, ...selection }) => ({
    name: `cluster-${name}`,
    limit: longestAnswer,
    read: async ({ kube, signal }: GatherScope) => show(await kube.list(selection, signal)),
  }));
  const shownPods = {
    name: 'cluster-pods.yaml',
    read: async () => asYaml((await found).map(podShape)),
  };
  await Promise.all([...objects, shownPods].map(add));
  const logs = logsOf(await found.catch(() => [])).map(({ pod, container }) => ({
    name: `pod-${pod}-${container}.log`,
    limit: longestAnswer,
    read: ({ kube, signal }: GatherScope) =>
      kube.podLog({ namespace, name: pod, container }, sinceSeconds, signal),
  }));
  await Promise.all(logs.map(add));
}

/** What is known of the credentials of this host without showing them. */
interface KnownSecrets {
  readonly hide: Hide;
  /** Where credentials come from, and the registries that they are for. */
  readonly sources: readonly { readonly from: string; readonly registries: readonly string[] }[];
}

/** Reads every credential that layering works with, so that each can be taken out of what is gathered. */
async function readKnownSecrets(scope: GatherScope): Promise<KnownSecrets> {
  const sources: { readonly from: string; readonly registries: readonly string[] }[] = [];
  for (const { from, ...known } of await readCredentials(scope)) {
    for (const secret of known.secrets) scope.hide(secret);
    sources.push({ from, registries: known.registries });
  }
  return { hide: (text) => withoutSecretLooks(scope.mask(text)), sources };
}

type FromFile = PullSecretContent & { readonly from: string };

async function readCredentials({ host, signal }: GatherScope): Promise<readonly FromFile[]> {
  const found: FromFile[] = [];
  for (const path of [PULL_SECRET_PATH, stagingFiles.authFile]) {
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsIn(text) });
  }
  for (const name of await host.list(asideFolders.secrets, signal)) {
    const path = `${asideFolders.secrets}/${name}`;
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsOf({ path, text }) });
  }
  return found;
}

/** The members of a Secret too, whatever form they have: another than the one that is wanted is a secret as well. */
function credentialsOf(file: { readonly path: string; readonly text: string }): PullSecretContent {
  try {
    const objects = readObjects(file);
    const members = objects.flatMap(({ value }) =>
      Object.values(registrySecretOf(value)?.data ?? {}),
    );
    const parts = objects.map((object) => credentialsIn(pullSecretOrNothing(object)));
    return {
      registries: parts.flatMap(({ registries }) => registries),
      secrets: [
        ...members.filter(isLongEnough).map((text) => new Secret(text)),
        ...parts.flatMap(({ secrets }) => secrets),
      ],
    };
  } catch {
    // A text that cannot be read is secret as a whole.
    return credentialsIn(file.text);
  }
}

function pullSecretOrNothing(object: SourceObject): string {
  try {
    return pullSecretIn(object);
  } catch {
    return '';
  }
}
