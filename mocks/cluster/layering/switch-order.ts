// In which order running nodes may be moved to another system by another hand than the operator's, so that the cluster
// keeps its quorum and the daemons agree.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { isAtRest, isReady } from './controllers.ts';
import { isCordoned } from './drain.ts';
import { annotation, hasRole } from './objects.ts';

/** A node that starts anew because somebody had it restarted. */
export interface NodeRestart {
  /** As it was right before. */
  readonly node: KubeObject;
  /** What it starts into. */
  readonly image: string;
  /** What the daemon's file on its disk says it runs; empty without one. */
  readonly recorded: string;
  /** Every node of the cluster. */
  readonly nodes: readonly KubeObject[];
}

/** How many masters keep a quorum while one of them is away. */
const QUORUM_AND_ONE = 3;

const isMaster = (node: KubeObject): boolean => hasRole(node, 'master') || hasRole(node, 'arbiter');

const readyMasters = (nodes: readonly KubeObject[]): number =>
  nodes.filter((node) => isMaster(node) && isReady(node)).length;

const poolOf = (node: KubeObject): 'master' | 'worker' =>
  hasRole(node, 'master') ? 'master' : 'worker';

/** What was done too early, or not at all, when a node was restarted, a sentence for each. */
export function wrongWithRestart({ node, image, recorded, nodes }: NodeRestart): readonly string[] {
  const { name } = node.metadata;
  const tooFew = whyTooFew(nodes);
  const told = ['currentImage', 'desiredImage'].filter((key) => annotation(node, key) !== image);
  const busy = nodes.filter(
    (one) =>
      one.metadata.name !== name &&
      poolOf(one) === poolOf(node) &&
      (isCordoned(one) || !isAtRest(one)),
  );
  const because = [
    ...(isDrained(node) ? [] : ['it was not drained']),
    ...told.map((key) => `its ${key} is ${annotation(node, key) || 'not there'}, not ${image}`),
    ...(recorded === image ? [] : [`its disk records ${recorded || 'nothing'}, not ${image}`]),
    ...busy.map((one) => `node ${one.metadata.name} of its pool was not at rest`),
    ...(isMaster(node) && tooFew !== undefined ? [tooFew] : []),
  ];
  return because.map((what) => `node ${name} was restarted although ${what}`);
}

/** Why the operator must not be let at a pool yet, which restarts its nodes; undefined when it may. */
export function wrongWithRollOut(pool: string, nodes: readonly KubeObject[]): string | undefined {
  const tooFew = whyTooFew(nodes);
  return pool === 'master' && tooFew !== undefined
    ? `the roll-out of pool ${pool} began although ${tooFew}`
    : undefined;
}

function whyTooFew(nodes: readonly KubeObject[]): string | undefined {
  const ready = readyMasters(nodes);
  return ready < QUORUM_AND_ONE ? `of the masters only ${ready} were Ready` : undefined;
}

const isDrained = (node: KubeObject): boolean =>
  isCordoned(node) && annotation(node, 'lastAppliedDrain').startsWith('drain-');
