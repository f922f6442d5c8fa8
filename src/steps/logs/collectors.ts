import { stringify } from 'yaml';
import { controllerLogFile } from '../../cluster/controller.ts';
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
} from '../../kube/kinds.ts';
import { containerLogs, isMcsLog } from '../../cluster/mcs-log.ts';
import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { isOperatorKey } from '../../layering/api/node-keys.ts';
import { listAt, partOf, textAt } from '../../kube/object.ts';
import type { Fields } from '../../lib/fields.ts';
import { readObjects } from '../../layering/api/source-object.ts';
import { containerfileFile } from '../../layering/build/build-plan.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import {
  asideFolders,
  blockUnit,
  isRendererLog,
  poolsFolder,
  renderedFolder,
  serveUnit,
} from '../../layering/manifests/bootstrap-files.ts';
import { lastPart, isRendered, machineConfigShape } from '../../layering/registry/log-secrets.ts';
import { registryContainer, stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { packArchive } from '../../lib/archive.ts';
import { type Millis, renderDuration, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { RoleName } from '../../model/role.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection } from '../../ports/kube.ts';
import { lsblkArgv } from '../disk/block-devices.ts';

/**
 * The user of the collectors. `run`: a run that failed, or whose logs a person requests, in one
 * file. `builds`: a bootstrap host that built images, in the logs for its service.
 */
type LogUser = 'run' | 'builds';

/**
 * The source of a text. A `*` in a path matches each wanted name in its folder; the name of the row
 * contains it too.
 */
type LogSource =
  /** A source that only its user can read, by the name of the row. */
  | { readonly own: true }
  | {
      readonly file: string;
      /** Its last component is a link, which is resolved on the host. */
      readonly isLink?: true;
      readonly isWanted?: (name: string) => boolean;
      readonly show?: (text: string, path: string) => string;
    }
  | { readonly argv: readonly string[] }
  | { readonly objects: KubeSelection; readonly show: Show }
  /** The logs of all containers of these pods, each in a row of its own. */
  | { readonly logsOf: KubeSelection }
  | { readonly podLog: Parameters<Kube['podLog']>[0] };

type Show = (objects: readonly KubeObject[]) => string;

/** Limits of a row: number of bytes that are kept from its end, and time. */
interface Limits {
  readonly mostBytes: number;
  readonly limit: Millis;
}

/**
 * A row of a table: its name, its source, a description for readers of a bundle, and limits other
 * than the usual ones.
 */
type Row = readonly [
  name: string,
  from: LogSource,
  what?: string,
  more?: Partial<Limits> & { readonly role?: RoleName },
];

const kib = 1024;

/** Limits of a row without its own. */
const usual: Readonly<Record<LogUser, Limits>> = {
  run: { mostBytes: 256 * kib, limit: seconds(5) },
  // An API server that does not answer must not delay the report of the failure.
  builds: { mostBytes: 1024 * kib, limit: seconds(20) },
};

const { mount, data, store, scratch } = stagingPlaces;

const journalArgv = (...matches: readonly string[]): readonly string[] => [
  ...['journalctl', '--no-pager', '--output=short-iso', '--lines=5000'],
  ...matches,
];

const buildUnits = [
  ...[blockUnit.path, blockUnit.service, serveUnit.path, serveUnit.service],
  ...['bootkube.service', 'kubelet.service', 'crio.service'],
  ...['release-image.service', 'node-image-pull.service', 'node-image-overlay.service'],
];

const runJournal = ['journalctl', '--no-pager', '--lines', '2000'] as const;
const runUnits = ['bootkube.service', 'kubelet.service', 'release-image.service'];
const kernelArgv = [...runJournal, '--dmesg'];
const runUnitsArgv = [...runJournal, ...runUnits.flatMap((unit) => ['--unit', unit])];

/** Processes without their arguments, which may be secret. */
const processesArgv = ['ps', '-eo', 'pid,ppid,stat,etime,wchan:32,comm'];

const builtArgv = [
  ...['podman', '--root', store.storage, '--runroot', store.run, '--storage-driver', 'overlay'],
  ...['images', '--digests'],
];

const tagsArgv = [
  ...['find', `${data}/docker/registry/v2/repositories`, '-path', '*/_manifests/tags/*'],
  ...['-name', 'link'],
];

/** Objects as YAML documents. */
const asYaml = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');

/** Name, labels, conditions and the Machine Config Operator's annotations of a node. */
const nodeShape = ({ metadata, status }: KubeObject): object => {
  const { name, labels, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(([key]) => isOperatorKey(key));
  const conditions = (status as { readonly conditions?: unknown } | undefined)?.conditions;
  return {
    metadata: { name, labels, annotations: Object.fromEntries(own) },
    status: { conditions },
  };
};

/** The node and the state of a pod; none of its configuration. */
const podShape = ({ metadata, spec, status }: KubeObject): object => {
  const { name, labels, creationTimestamp } = metadata;
  const { nodeName } = (spec ?? {}) as { readonly nodeName?: string };
  return { metadata: { name, labels, creationTimestamp }, spec: { nodeName }, status };
};

const renderedShapes = (objects: readonly KubeObject[]): string =>
  objects
    .filter(({ metadata }) => isRendered(metadata.name))
    .map((object) => machineConfigShape(object as unknown as Fields))
    .join('---\n');

const fileShapes = (text: string, path: string): string =>
  readObjects({ path, text })
    .map(({ value }) => machineConfigShape(value))
    .join('---\n');

/** A line per event, the oldest first. */
const eventLines = (found: readonly KubeObject[]): string =>
  found
    .toSorted((one, other) => timeOf(one).localeCompare(timeOf(other)))
    .map((event) => {
      const object = `${textAt(event, 'involvedObject', 'kind')}/${textAt(event, 'involvedObject', 'name')}`;
      const times = partOf(event, 'count');
      const often = typeof times === 'number' && times > 1 ? ` (${times} times)` : '';
      return `${timeOf(event)} ${textAt(event, 'type')} ${textAt(event, 'reason')} ${object}: ${textAt(event, 'message')}${often}\n`;
    })
    .join('');

const timeOf = (event: KubeObject): string =>
  textAt(event, 'lastTimestamp') ||
  textAt(event, 'eventTime') ||
  (event.metadata.creationTimestamp ?? '');

const isServerLog = (name: string): boolean => isRendererLog(name) || isMcsLog(name);

const namespace = operatorNamespace;

const objects = (kind: KubeKind, show: Show = asYaml): LogSource => ({ objects: { kind }, show });
const operated = (kind: KubeKind, show: Show = asYaml): LogSource => ({
  objects: { kind, namespace },
  show,
});

const own = { own: true } as const;

const tables: Readonly<Record<LogUser, readonly Row[]>> = {
  run: [
    ['journal.jsonl', own, 'the journal of the run', { mostBytes: 1024 * kib }],
    ['status.json', own, 'how the run was shown last'],
    ['plan.txt', own, 'every step with its end, and the plan'],
    ['config.txt', own, 'every setting with its origin'],
    ['host.txt', own, 'what "bootwright doctor" finds of the host', { limit: seconds(10) }],
    ['kernel-arguments.txt', { file: '/proc/cmdline' }, '/proc/cmdline'],
    ['disks.json', { argv: lsblkArgv }, 'what lsblk says of the disks'],
    ['kernel.log', { argv: kernelArgv }, 'the end of the kernel log', { mostBytes: 512 * kib }],
    [
      'units.log',
      { argv: runUnitsArgv },
      'the end of the log of bootkube and of what it needs',
      { role: 'bootstrap' },
    ],
    ['mounts.txt', { file: '/proc/1/mounts' }, '/proc/1/mounts'],
    ['processes.txt', { argv: processesArgv }, 'processes, with what the kernel waits for'],
    ['agent.log', own, 'our log, with the output of tools', { mostBytes: 2048 * kib }],
    ['*-build.log', { file: `${scratch}/*/build.log` }],
  ],
  builds: [
    ['credentials.json', own],
    ['kernel-arguments.txt', { file: '/proc/cmdline' }],
    ['registries.conf', { file: '/etc/containers/registries.conf' }],
    ['policy.json', { file: '/etc/containers/policy.json' }],
    ['os-config-*', { file: `${asideFolders.osConfigs}/*` }],
    ['*-Containerfile', { file: `${scratch}/*/context/${containerfileFile}` }],
    ['*-build.log', { file: `${scratch}/*/build.log` }],
    ['*-digest', { file: `${scratch}/*/digest` }],
    ['pool-*', { file: `${poolsFolder}/*` }],
    ['*', { file: `${renderedFolder}/*`, isWanted: isRendered, show: fileShapes }],
    ['container-*', { file: `${containerLogs}/*`, isLink: true, isWanted: isServerLog }],
    ['registry.log', { argv: journalArgv(`CONTAINER_NAME=${registryContainer}`) }],
    ['units.log', { argv: journalArgv(...buildUnits.map((unit) => `--unit=${unit}`)) }],
    ['podman-info.txt', { argv: ['podman', 'info'] }],
    ['podman-containers.txt', { argv: ['podman', 'ps', '--all'] }],
    ['podman-images.txt', { argv: ['podman', 'images', '--digests'] }],
    ['built-images.txt', { argv: builtArgv }],
    ['buildah-info.txt', { argv: ['buildah', 'info'] }],
    ['registry-tags.txt', { argv: tagsArgv }],
    ['disk-space.txt', { argv: ['df', '--human-readable'] }],
    ['memory.txt', { argv: ['free', '--mebi'] }],
    ['rendered-files.txt', { argv: ['ls', '-l', '--recursive', '/etc/mcs/bootstrap'] }],
    ['written-disk.txt', { argv: ['ostree', 'admin', 'status', `--sysroot=${mount}`] }],
    ['cluster-machineosconfigs.yaml', objects(machineOSConfigs)],
    ['cluster-machineosbuilds.yaml', objects(machineOSBuilds)],
    ['cluster-machineconfigpools.yaml', objects(machineConfigPools)],
    ['cluster-machineconfignodes.yaml', objects(machineConfigNodes)],
    ['cluster-jobs.yaml', operated(jobs)],
    ['cluster-nodes.yaml', objects(nodes, (all) => asYaml(all.map(nodeShape)))],
    ['cluster-machineconfigs.yaml', objects(machineConfigs, renderedShapes)],
    ['cluster-events.txt', operated(events, eventLines)],
    ['cluster-pods.yaml', operated(pods, (all) => asYaml(all.map(podShape)))],
    ['pod-*.log', { logsOf: { kind: pods, namespace } }],
  ],
};

/** A row for one of its users. */
export interface Collector extends Limits {
  readonly name: string;
  readonly what: string;
  readonly from: LogSource;
  /** The only role with this row. */
  readonly role?: RoleName;
}

/** The rows of a user, in their order. None of them changes a host or a cluster. */
export const collectorsOf = (user: LogUser): readonly Collector[] =>
  tables[user].map(([name, from, what = '', more = {}]) => ({
    ...usual[user],
    ...more,
    name,
    what,
    from,
  }));

/** A text, or its end with the bytes of the whole text; undefined if nothing exists. */
type LogText = string | { readonly text: string; readonly size: number } | undefined;

/**
 * The sources that are available to a collector. A row whose source is not available is missing.
 */
export interface LogReach {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly host: Pick<Host, 'exec' | 'list' | 'readText' | 'realPath'>;
  readonly kube?: Pick<Kube, 'list' | 'podLog'>;
  /** By the name of the row. */
  readonly own?: Readonly<Record<string, (most: number, signal: AbortSignal) => Promise<LogText>>>;
  /**
   * The output of a failed command is collected too: `podman ps` of a broken store is worth as
   * much.
   */
  readonly showsFailures?: boolean;
}

/** Lists each selection once: several rows use the same objects. */
export function listedOnce({ list }: Pick<Kube, 'list'>): Kube['list'] {
  const lists = new Map<string, ReturnType<Kube['list']>>();
  return (selection, signal) => {
    const key = JSON.stringify(selection);
    const listed = lists.get(key) ?? list(selection, signal);
    lists.set(key, listed);
    return listed;
  };
}

/** The result of a row: its text, or the reason why it is missing. */
type CollectedRow =
  | { readonly text: string; readonly bytes: number; readonly size: number }
  | { readonly missing: string; readonly isAbsent: boolean };

const absentRow = ({ from }: Collector): CollectedRow => ({
  missing: 'file' in from ? `this host has no ${from.file}` : 'the run has left none',
  isAbsent: true,
});

/** Masks secrets in a text. */
export type Hide = (text: string) => string;

/**
 * Reads one row, masks the secrets, and keeps its end. Never rejects: an error is the reason why
 * the row is missing.
 */
export async function collect(row: Collector, reach: LogReach, hide: Hide): Promise<CollectedRow> {
  const { mostBytes, limit } = row;
  // The adapter ends a command at its limit, except one that a disk blocks in the kernel.
  const most = 'argv' in row.from ? limit + seconds(1) : limit;
  try {
    const found = await limited(reach.clock, workLimit(most, reach.signal), (signal) =>
      read(row, { ...reach, signal }),
    );
    if (found === undefined) return absentRow(row);
    const { text: whole, size } =
      typeof found === 'string' ? { text: found, size: Buffer.byteLength(found) } : found;
    // Twice the kept length is masked, so that the cut does not split a secret of several lines.
    const text = lastPart(hide(lastPart(whole, 2 * mostBytes)), mostBytes);
    return { text, bytes: Buffer.byteLength(text), size };
  } catch (thrown) {
    return { missing: hide(asAgentError(thrown).message), isAbsent: false };
  }
}

/** A limit of a collector, which fails with `step.timed-out`. */
export const workLimit = (limit: Millis, signal: AbortSignal): Parameters<typeof limited>[1] => ({
  limit,
  signal,
  late: () => engineFailure('step.timed-out', `not done within ${renderDuration(limit)}`),
});

async function read(
  { from, name, limit, mostBytes }: Collector,
  reach: LogReach,
): Promise<LogText> {
  const { kube, signal } = reach;
  if ('own' in from) return reach.own?.[name]?.(2 * mostBytes, signal);
  if ('file' in from) return textOf(from, reach);
  if ('argv' in from) return outputOf(reach, from.argv, limit);
  if ('objects' in from) return kube && from.show(await kube.list(from.objects, signal));
  return 'podLog' in from ? kube?.podLog(from.podLog, longestLog, signal) : undefined;
}

async function textOf(
  { file, isLink, show }: Extract<LogSource, { readonly file: string }>,
  { host, signal }: LogReach,
): Promise<string | undefined> {
  const path = isLink ? await host.realPath(file, signal) : file;
  const text = path === undefined ? undefined : await host.readText(path, signal);
  return text && (show?.(text, file) ?? text);
}

/** In seconds; an installation is shorter. */
const longestLog = 24 * 3600;

async function outputOf(
  { host, signal, showsFailures }: LogReach,
  argv: readonly string[],
  limit: Millis,
): Promise<string> {
  try {
    const { stdout, stderr } = await host.exec(argv, { signal, limit });
    if (!showsFailures) return stdout;
    return `${[stdout, stderr].filter((text) => text !== '').join('\n')}\n`;
  } catch (error) {
    if (!showsFailures || !(error instanceof AgentError) || error.code !== 'command.failed')
      throw error;
    const { stdout, stderr } = error.context;
    return `${[error.message, stdout ?? '', stderr ?? ''].join('\n')}\n`;
  }
}

/** The row, or one row for each name that its `*` matches. */
export async function rowsOf(row: Collector, reach: LogReach): Promise<readonly Collector[]> {
  const { from, name } = row;
  const named = (found: string, source: LogSource): Collector => ({
    ...row,
    name: name.replace('*', () => found),
    from: source,
  });
  if ('logsOf' in from) {
    const { namespace = '' } = from.logsOf;
    const found = (await reach.kube?.list(from.logsOf, reach.signal).catch(() => [])) ?? [];
    return containersOf(found).map(({ pod, container }) =>
      named(`${pod}-${container}`, { podLog: { namespace, name: pod, container } }),
    );
  }
  if (!('file' in from) || !from.file.includes('*')) return [row];
  const { isWanted = () => true } = from;
  const [folder = ''] = from.file.split('/*', 1);
  const names = await reach.host.list(folder, reach.signal);
  return names
    .filter(isWanted)
    .map((found) => named(found, { ...from, file: from.file.replace('*', () => found) }));
}

/** In a large cluster a daemon runs on every node. */
const mostLogs = 20;

const daemon = 'machine-config-daemon';
const proxy = 'kube-rbac-proxy';

/**
 * Containers with the controllers and builds first, without the proxies that authorize requests for
 * metrics.
 */
function containersOf(found: readonly KubeObject[]) {
  const all = found.flatMap((object) =>
    listAt(object, 'spec', 'containers').flatMap((one) => {
      const { name: container } = one as { readonly name: string };
      return container === proxy ? [] : [{ pod: object.metadata.name, container }];
    }),
  );
  const last = ({ container }: { container: string }) => Number(container === daemon);
  return all.toSorted((one, other) => last(one) - last(other)).slice(0, mostLogs);
}

/**
 * The log of the controller in the format of the service, a tar archive with the log as its one
 * file: the log of its pod, otherwise the local one, otherwise the reason why both are missing.
 * @param log.sinceSeconds the complete log unless given
 * @param log.file the local file, if it is not at its usual path
 */
export async function controllerLogArchive(
  {
    kube,
    host,
    clock,
    signal,
  }: Pick<LogReach, 'clock' | 'signal'> & {
    readonly host: Pick<Host, 'readText'>;
    readonly kube: Pick<Kube, 'podLog'>;
  },
  {
    pod,
    sinceSeconds,
    file = controllerLogFile,
  }: {
    readonly pod: KubeObject | undefined;
    readonly sinceSeconds?: number;
    readonly file?: string | undefined;
  },
): Promise<Uint8Array> {
  const { name = 'the controller', namespace = '' } = pod?.metadata ?? {};
  const sources = [
    [`the log of pod ${name}`, () => pod && kube.podLog({ namespace, name }, sinceSeconds, signal)],
    [file, () => host.readText(file, signal)],
  ] as const;
  let missing = '';
  for (const [what, readLog] of sources) {
    let reason = 'it is not there';
    try {
      const text = await readLog();
      if (text !== undefined && text !== '') return await archiveOf(text, clock.now());
      if (text === '') reason = 'it is empty';
    } catch (thrown) {
      signal.throwIfAborted();
      reason = asAgentError(thrown).message;
    }
    missing += `could not read ${what}: ${reason}\n`;
  }
  return archiveOf(missing, clock.now());
}

const archiveOf = (text: string, time: number): Promise<Uint8Array> =>
  packArchive([{ name: 'assisted-installer-controller.logs', mode: 0o644, text }], time);
