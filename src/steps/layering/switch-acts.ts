import { nodes, pods } from '../../cluster/kinds.ts';
import { nodeKeys } from '../../layering/node-keys.ts';
import type { SwitchAct } from '../../layering/switching/next-act.ts';
import {
  drainRequest,
  type NodeStanding,
  type SwitchTarget,
  uncordonRequest,
} from '../../layering/switching/node-standing.ts';
import { type PodAct, switchPod } from '../../layering/switching/pods.ts';
import type { StepScope } from '../step.ts';
import { createUnlessThere } from './hand-over-objects.ts';

/** To what nodes are switched, and with what. */
export interface SwitchOrder extends SwitchTarget {
  /** Image of this program. */
  readonly program: string;
  /** Where the pods are made. */
  readonly namespace: string;
}

type Deed = Exclude<SwitchAct, { readonly kind: 'wait' | 'done' }>;

/**
 * Does what was decided about a node, and says what it is.
 * @throws AgentError `kube.*`
 */
export async function doSwitchAct(
  scope: StepScope<'kube'>,
  deed: Deed,
  order: SwitchOrder,
): Promise<string> {
  const { node } = deed;
  await deeds[deed.kind](scope, deed as never, order);
  const words = wordsFor(deed);
  scope.note('info', `node ${node.name} ${words}`);
  return `${node.name} ${words}`;
}

/**
 * Has a node given back to its work.
 * @throws AgentError `kube.*`
 */
export const returnNode = (
  scope: StepScope<'kube'>,
  node: NodeStanding,
  { renderedConfig }: SwitchOrder,
): Promise<void> =>
  annotate(scope, node, { [nodeKeys.desiredDrain]: uncordonRequest(renderedConfig) });

type Do<Kind extends Deed['kind']> = (
  scope: StepScope<'kube'>,
  deed: Extract<Deed, { readonly kind: Kind }>,
  order: SwitchOrder,
) => Promise<void>;

const deeds: { readonly [Kind in Deed['kind']]: Do<Kind> } = {
  'start-pod': async (scope, { node: { name, bootId }, act }, { image, program, namespace }) => {
    const pod = switchPod({ act, node: name, bootId, image, program, namespace });
    await createUnlessThere(scope, { kind: pods, name: pod.metadata.name, namespace }, pod);
  },
  'remove-pod': ({ kube, signal }, { pod: { name } }, { namespace }) =>
    kube.remove({ kind: pods, name, namespace }, signal),
  'ask-drain': (scope, { node }, { renderedConfig }) =>
    annotate(scope, node, { [nodeKeys.desiredDrain]: drainRequest(renderedConfig) }),
  'tell-image': (scope, { node }, { image }) =>
    annotate(scope, node, { [nodeKeys.currentImage]: image, [nodeKeys.desiredImage]: image }),
  'remove-pods': async ({ kube, signal }, { node }, { namespace }) => {
    for (const act of removalOrder) {
      const name = node.pods[act]?.name;
      if (name !== undefined) await kube.remove({ kind: pods, name, namespace }, signal);
    }
  },
};

/** What is left after any of these still says that the node has restarted. */
const removalOrder: readonly PodAct[] = ['record', 'stage', 'restart', 'check'];

async function annotate(
  { kube, signal }: StepScope<'kube'>,
  { name }: NodeStanding,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const body = { metadata: { annotations } };
  await kube.patch({ kind: nodes, name }, { type: 'merge', body }, signal);
}

const podWords: Readonly<Record<PodAct, string>> = {
  stage: 'stages its image',
  record: 'is to know that it will run its image',
  restart: 'restarts into its image',
  check: 'has restarted, and tells what it runs',
};

function wordsFor(deed: Deed): string {
  switch (deed.kind) {
    case 'start-pod':
      return podWords[deed.act];
    case 'remove-pod':
      return `has a pod that failed, which is made anew (${deed.pod.act})`;
    case 'ask-drain':
      return 'is to be drained';
    case 'tell-image':
      return 'names its image';
    case 'remove-pods':
      return 'runs its image';
  }
}
