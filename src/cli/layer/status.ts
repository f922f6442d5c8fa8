import { leases, podDisruptionBudgets, pods } from '../../kube/kinds.ts';
import { violationText } from '../../layering/hand-over/invariants.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { isDraining } from '../../layering/roll-out/blocked-drain.ts';
import type { ImageOrigin, UnfinishedBuild } from '../../layering/roll-out/image-origin.ts';
import { nodeControllerLease, operatorRefs } from '../../layering/roll-out/ownership.ts';
import {
  type NodeProgress,
  type PoolProgress,
  poolProgress,
  type RollOutSnapshot,
} from '../../layering/roll-out/progress.ts';
import { textAt } from '../../kube/object.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import { exitCodes } from '../../model/failure.ts';
import { withCluster } from '../cluster.ts';
import { jsonText, outputWidth, print, wrapped } from '../messages.ts';
import { readCluster } from './in-cluster.ts';

/** Arguments of `layer status`. */
export interface StatusCall {
  readonly kubeconfig: string;
  /** Default: all pools. */
  readonly pool?: string;
  /** `text` or `json`. */
  readonly format: string;
}

/**
 * Prints the layering state of a cluster's pools. Resolves with the exit code of a cluster failure
 * if an invariant of a layered pool is violated and no roll-out under way would restore it.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerStatus({ kubeconfig, pool, format }: StatusCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readRollOut(kube, signal, pool);
    const pools = pool === undefined ? cluster.pools.map(({ metadata }) => metadata.name) : [pool];
    const seen = pools.map((name) => poolProgress(name, cluster));
    print(format === 'json' ? renderPoolsJson(seen) : renderPools(seen, outputWidth(usualWidth)));
    const needsHelp = seen.some((one) => one.violations.length > 0 && !isRollingOut(one));
    return needsHelp ? exitCodes.cluster : 0;
  });
}

const usualWidth = 100;

async function readRollOut(
  kube: Kube,
  signal: AbortSignal,
  pool: string | undefined,
): Promise<RollOutSnapshot> {
  const namespace = operatorNamespace;
  const refs = operatorRefs(namespace);
  const read = (all: readonly KubeRef[]): Promise<readonly (KubeObject | undefined)[]> =>
    Promise.all(all.map((ref) => kube.get(ref, signal)));
  const [cluster, deployments, theirs, own, lease, budgets] = await Promise.all([
    readCluster(kube, signal, pool),
    read(refs.deployments),
    read(refs.leases),
    kube.list({ kind: pods, namespace }, signal),
    kube.get({ kind: leases, namespace, name: nodeControllerLease }, signal),
    kube.list({ kind: podDisruptionBudgets }, signal),
  ]);
  const now = Date.now();
  // A single read cannot observe changes of the lease, so it relies on the lease's own times.
  const held = theirs
    .filter((one) => one !== undefined)
    .map((one) => ({ lease: one, since: Date.parse(textAt(one, 'spec', 'renewTime')) || now }));
  const draining = cluster.nodes.filter((node) => isDraining(node));
  const drained = await Promise.all(
    draining.map(({ metadata: { name } }) =>
      kube.list({ kind: pods, fieldSelector: `spec.nodeName=${name}` }, signal),
    ),
  );
  return {
    ...cluster,
    operator: {
      leases: held,
      pods: own,
      now,
      deployments: deployments.filter((one) => one !== undefined),
    },
    lease,
    budgets,
    pods: drained.flat(),
    now,
  };
}

/** The pools for programs. Later versions add fields and remove none. */
export const renderPoolsJson = (pools: readonly PoolProgress[]): string => jsonText({ pools });

/**
 * The pools, for people.
 * @param width maximum columns; only a longer word, such as the digest of an image, exceeds it
 */
export const renderPools = (pools: readonly PoolProgress[], width: number): string =>
  pools
    .map(
      (pool) =>
        `${rowsOf(pool)
          .flatMap((row) => linesOf(row, width))
          .join('\n')}\n`,
    )
    .join('\n');

/** A label with its text; a title has no text. */
type Row = readonly [label: string, text?: string];

const labelWidth = 18;

function linesOf([label, text]: Row, width: number): readonly string[] {
  if (text === undefined) return [label];
  const lines = wrapped(text, width - labelWidth - 2);
  // A name longer than its column gets its own line.
  const isLong = label.length >= labelWidth;
  const rest = lines.map((one) => `${' '.repeat(labelWidth + 2)}${one}`);
  return isLong
    ? [`  ${label}`, ...rest]
    : [`  ${label.padEnd(labelWidth)}${lines[0] ?? ''}`.trimEnd(), ...rest.slice(1)];
}

function rowsOf(progress: PoolProgress): readonly Row[] {
  const { pool, isLayered, isPaused, image, nodes, nextBuild, origin } = progress;
  const title: Row = [`pool ${pool}${isPaused ? ' (paused)' : ''}`];
  const isOnImages = nodes.some((one) => one.currentImage !== '' || one.desiredImage !== '');
  const toDo = progress.actions.map((one): Row => ['to do', one]);
  if (!isLayered && !isOnImages) return [title, ['layered', 'no'], ...toDo];
  return [
    title,
    ['state', stateText(progress)],
    ['run by', runnerText(progress)],
    ['MachineOSConfig', isLayered ? `pushes to ${progress.pushSpec}` : 'none'],
    ['MachineOSBuild', buildText(progress)],
    ...(nextBuild === undefined ? [] : nextBuildRows(nextBuild)),
    ['image', image === '' ? 'none' : image],
    ...(origin === undefined ? [] : [['why this one', originText(origin)] as const]),
    ['MachineConfig', progress.rendered === '' ? 'not rendered' : progress.rendered],
    ['nodes', countText(progress)],
    ...nodes.map((node): Row => [`  ${node.name}`, nodeText(node, image)]),
    ...progress.violations.map((one): Row => [
      isRollingOut(progress) ? 'not yet' : 'violation',
      `${violationText(one)} (${one.title})`,
    ]),
    ...toDo,
  ];
}

/** The conditions that are True, as in the columns of `oc get mcp`. */
function stateText({ conditions }: PoolProgress): string {
  const said = Object.entries(conditions).filter(([, status]) => status === 'True');
  return said.length === 0 ? 'unknown' : said.map(([type]) => type.toUpperCase()).join(', ');
}

/** Whether a normal roll-out is under way, during which some invariants do not hold. */
const isRollingOut = ({ conditions: { updating, degraded } }: PoolProgress): boolean =>
  updating === 'True' && degraded !== 'True';

const runners: Readonly<Record<string, string>> = {
  'machine-config-operator': 'the Machine Config Operator',
  bootwright: 'bootwright node controller',
};

const runnerText = ({ runner: { by, why } }: PoolProgress): string =>
  `${runners[by] ?? 'nobody'}: ${why}`;

const buildText = ({ build: { name, phase } }: PoolProgress): string =>
  name === '' ? 'none' : `${name}: ${phase}`;

const nextBuildRows = ({ since, message, pod }: UnfinishedBuild): readonly Row[] => [
  ...(since === '' ? [] : [['  since', since] as const]),
  ...(message === '' ? [] : [['  message', message] as const]),
  ...(pod === '' ? [] : [['  pod', pod] as const]),
];

function originText(origin: ImageOrigin): string {
  const { build, rendered, isOfInstallation, builtAt, reusedFrom } = origin;
  if (build === '') return 'no MachineOSBuild of the pool has it';
  const where = isOfInstallation ? 'during the installation' : 'in the cluster';
  return [
    `MachineOSBuild ${build} of ${rendered}, built ${where}${builtAt === '' ? '' : ` until ${builtAt}`}`,
    ...(origin.generation === 0 ? [] : [`generation ${origin.generation} of the MachineOSConfig`]),
    ...(reusedFrom === '' ? [] : [`the same image as ${reusedFrom}`]),
  ].join('; ');
}

function countText({ nodes, image }: PoolProgress): string {
  const on = nodes.filter((node) => isOn(node, image)).length;
  const done = nodes.filter(({ waitsFor }) => waitsFor === '').length;
  const all = nodes.length;
  return `${on} of ${all} run the image${done === on ? '' : `, ${done} of ${all} are done`}`;
}

const isOn = ({ currentImage, desiredImage }: NodeProgress, image: string): boolean =>
  image !== '' && currentImage === image && desiredImage === image;

function nodeText(node: NodeProgress, image: string): string {
  const { state, currentImage, desiredImage, waitsFor } = node;
  const named = (text: string): string => (text === '' ? 'the release' : text);
  const isElsewhere = desiredImage !== currentImage && desiredImage !== image;
  return [
    state === '' ? 'no state' : state,
    ...(waitsFor === '' ? [] : [state === 'Done' ? `waits: ${waitsFor}` : waitsFor]),
    ...(isOn(node, image) ? [] : [`runs ${named(currentImage)}`]),
    ...(isElsewhere ? [`desired: ${named(desiredImage)}`] : []),
  ].join('; ');
}
