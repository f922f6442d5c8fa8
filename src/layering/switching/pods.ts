import { createHash } from 'node:crypto';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, countAt, listAt, partOf, textAt } from '../cluster-object.ts';

/**
 * What is done on a node, each by a pod of its own: the image is pulled and staged, the daemon's record of it is
 * written, the node restarts, and it is looked at what it runs.
 */
export const podActs = ['stage', 'record', 'restart', 'check'] as const;
export type PodAct = (typeof podActs)[number];

type Words = (order: Pick<PodOrder, 'image' | 'bootId'>) => readonly string[];

/** Words for this program; each may be run again at any time. A pod that restarts its node is run again after that. */
const words: Readonly<Record<PodAct, Words>> = {
  stage: ({ image }) => ['node', 'apply', image],
  record: ({ image }) => ['node', 'apply', image, '--record'],
  restart: ({ image, bootId }) => ['node', 'apply', image, '--reboot', '--in-boot', bootId],
  check: ({ image }) => ['node', 'status', '--runs', image],
};

const actLabel = 'bootwright.io/act';
const bootIdKey = 'bootwright.io/boot-id';

/** By what the pods are found. */
export const switchPodLabels = {
  'app.kubernetes.io/name': 'bootwright',
  'app.kubernetes.io/component': 'node-switch',
  'app.kubernetes.io/part-of': 'assisted-installer',
} as const;

/** A pod that is to do something on a node. */
export interface PodOrder {
  readonly act: PodAct;
  readonly node: string;
  /** Of the node as it runs now; another one later says that it has restarted. */
  readonly bootId: string;
  /** The image that the node is to run, by digest. */
  readonly image: string;
  /** Image of this program. */
  readonly program: string;
  readonly namespace: string;
}

/** The name of a pod: the same for the same act, node and image. */
export function switchPodName({ act, node, image }: Pick<PodOrder, 'act' | 'node' | 'image'>) {
  const sum = createHash('sha256').update(`${node} ${image}`).digest('hex').slice(0, 10);
  return `bootwright-switch-${act}-${sum}`;
}

/**
 * A pod that runs `bootwright node` on one node, whoever else may run there. The kubelet starts it again until it
 * succeeds, after a restart of the node too.
 */
export function switchPod(order: PodOrder): KubeObject {
  const { act, node, bootId, program, namespace } = order;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: switchPodName(order),
      namespace,
      labels: { ...switchPodLabels, [actLabel]: act },
      annotations: { [bootIdKey]: bootId, 'openshift.io/required-scc': 'privileged' },
    },
    spec: {
      nodeName: node,
      restartPolicy: 'OnFailure',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostPID: true,
      hostNetwork: true,
      dnsPolicy: 'Default',
      priorityClassName: 'system-node-critical',
      terminationGracePeriodSeconds: 10,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: act,
          image: program,
          imagePullPolicy: 'IfNotPresent',
          args: words[act](order),
          resources: { requests: { cpu: '10m', memory: '128Mi' } },
          securityContext: { privileged: true, runAsUser: 0 },
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ],
    },
  };
}

/** How a pod on a node stands. */
export interface PodStanding {
  readonly name: string;
  readonly act: PodAct;
  readonly isDone: boolean;
  /** It ended for good without success: nobody starts it again. */
  readonly hasFailed: boolean;
  /** Of the node when the pod was made. */
  readonly bootId: string;
  /** What it does, or what it failed with, for people. */
  readonly status: string;
}

/** The pods of a node among those of the switch. */
export interface PodsOnNode {
  /** By what they do; one that is being removed counts as gone. */
  readonly pods: Readonly<Partial<Record<PodAct, PodStanding>>>;
  /** What pods did that are being removed: until they are gone there can be no other. */
  readonly leaving: readonly PodAct[];
}

/** The pods of a node among those of the switch. */
export function switchPodsOn(node: string, pods: readonly KubeObject[]): PodsOnNode {
  const own = pods.filter((pod) => textAt(pod, 'spec', 'nodeName') === node);
  const isLeaving = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
  const staying = own.filter((pod) => !isLeaving(pod)).map(standingOfPod);
  return {
    pods: Object.fromEntries(staying.map((one) => [one.act, one])),
    leaving: own.filter(isLeaving).map(actOf),
  };
}

function actOf({ metadata }: KubeObject): PodAct {
  const label = metadata.labels?.[actLabel];
  return podActs.find((act) => act === label) ?? 'stage';
}

function standingOfPod(pod: KubeObject): PodStanding {
  const phase = textAt(pod, 'status', 'phase');
  return {
    name: pod.metadata.name,
    act: actOf(pod),
    isDone: phase === 'Succeeded',
    hasFailed: phase === 'Failed',
    bootId: annotationOf(pod, bootIdKey),
    status: troubleOf(pod) ?? phaseWords[phase] ?? 'is about to start',
  };
}

const phaseWords: Readonly<Record<string, string>> = {
  Running: 'runs',
  Succeeded: 'is through',
  Failed: 'has failed',
};

/** Letters that are kept of what a container said last. */
const longestWord = 200;

function troubleOf(pod: KubeObject): string | undefined {
  const [container] = listAt(pod, 'status', 'containerStatuses') as readonly KubeObject[];
  const waiting = textAt(container, 'state', 'waiting', 'reason');
  const ended =
    partOf(container, 'lastState', 'terminated') ?? partOf(container, 'state', 'terminated');
  const { exitCode = 0, message = '' } = (ended ?? {}) as { exitCode?: number; message?: string };
  if (exitCode !== 0) {
    const times = countAt(container, 'restartCount');
    const said = message.trim().split('\n').at(-1) ?? '';
    return `ended with ${exitCode}, ${times} times: ${said.slice(0, longestWord)}`;
  }
  return /Err|BackOff|Invalid/.test(waiting) ? `does not start: ${waiting}` : undefined;
}
