import { z } from 'zod';
import { operatorNames } from './operators.ts';

/** A host that becomes a node of the cluster. */
export interface Member {
  /** Name of the host and of its node. */
  readonly name: string;
  readonly role: 'master' | 'arbiter' | 'worker';
  readonly isBootstrap: boolean;
}

/** Fields of a scenario for a cluster that starts. */
export const clusterFields = {
  /** The API moves from the temporary server to another one when bootkube is done. */
  apiMoves: z.boolean().default(false),
  /** bootkube crashes until systemd stops restarting it (`start-limit-hit`). */
  bootkubeCrashes: z.boolean().default(false),
  /** Failures of bootkube before it starts the API; systemd restarts it each time. */
  bootkubeFails: z.int().min(0).default(0),
  /** Failures of progress.service before it reports the bootstrap complete. */
  progressFails: z.int().min(0).default(0),
  /**
   * Seconds from bootkube's end in which the API server refuses the certificates of administrators.
   */
  adminsRefusedSeconds: z.number().min(0).default(0),
  /** Seconds in which no kubelet can pull the image of the controller. */
  controllerPullFailsSeconds: z.number().min(0).default(0),
  /**
   * The controller is killed when its log contains the first of these, its successor at the second,
   * and so on.
   */
  controllerDies: z.array(z.string()).default([]),
  /** The host that starts from its disk and never requests its Ignition: its network is wrong. */
  neverJoins: z.string().optional(),
  /** The operator that fails, and never becomes available. */
  stuckOperator: z.enum(operatorNames).optional(),
  /** Certificate requests arrive that the controller must never approve. */
  forgesRequests: z.boolean().default(false),
};

/** Parameters of the started cluster. */
export interface ClusterPlan extends Partial<z.infer<z.ZodObject<typeof clusterFields>>> {
  readonly members: readonly Member[];
  /** etcd of this release starts with less than three members only with an override. */
  readonly needsEtcdOverride: boolean;
  /** Operating systems are built while it starts; the boots of nodes are simulated. */
  readonly isLayered?: boolean;
  /** Version of OpenShift. */
  readonly version: string;
  readonly pace: Pace;
}

/**
 * Phase of a host: `live` runs from its medium; `booting` starts from its disk; `waiting` for an
 * answer of the machine-config-server; `configuring` with its Ignition; `unapproved` its kubelet
 * waits for a certificate; `joining` its node exists, NotReady; `ready`.
 */
export type HostPhase =
  'live' | 'booting' | 'waiting' | 'configuring' | 'unapproved' | 'joining' | 'ready';

/** The state of the cluster. */
export interface ClusterState {
  readonly isApiUp: boolean;
  /** The machine-config-server on the bootstrap host runs; it may have no config to serve yet. */
  readonly isConfigServerUp: boolean;
  /** The machine-config-server answers, on the bootstrap host or in the cluster. */
  readonly isConfigServed: boolean;
  readonly isOverridden: boolean;
  /** Enough nodes are Ready for bootkube to end. */
  readonly isControlPlaneReady: boolean;
  readonly isBootkubeDone: boolean;
  /** All masters have the same desired MachineConfig, which exists in the cluster. */
  readonly isConfigAgreed: boolean;
  /** Masters that got the newly rendered MachineConfig of their pool since they booted. */
  readonly reconfigured: readonly string[];
  readonly isBootstrapComplete: boolean;
  /** etcd has no member on the bootstrap host any more. */
  readonly isHandedOver: boolean;
  /** The controller has reported that it is ready. */
  readonly isControllerUp: boolean;
  /** The step of the operators that waits for a node with workload. */
  readonly heldStep?: number | undefined;
  readonly phases: Readonly<Record<string, HostPhase>>;
  /** Forbidden actions of an installer that happened. */
  readonly complaints: readonly string[];
}

/** Purposes of a kubelet's certificates. */
export type Purpose = 'client' | 'serving';

/** Objects of these kinds, each with the same facts. */
type Each<Kind, Facts = unknown> = Kind extends string ? { readonly kind: Kind } & Facts : never;

interface OfHost {
  readonly host: string;
}
interface OfCertificate extends OfHost {
  readonly purpose: Purpose;
}
interface OfStep {
  /** A step of the operators; see `operatorNames`. */
  readonly step: number;
}

/**
 * An event of the hosts, of the cluster, or of a timer. `released`: the machine-config-server of
 * the bootstrap host has its config; `configuring`: a host has its config, and `pivots` when its
 * disk held another system, so that it reboots once more; `reconfigured`: the daemon of a master
 * has applied its desired MachineConfig; `admins-known`: an operator has given the API server the
 * CA of administrators; `controller-pulled`: the controller's image can be pulled from now on;
 * `controller-ready`: the controller has created its ready event.
 */
export type ClusterEvent =
  | Each<
      | 'bootkube-started'
      | 'override-seen'
      | 'api-due'
      | 'config-server-due'
      | 'released'
      | 'render-due'
      | 'bootkube-due'
      | 'admins-known'
      | 'complete-due'
      | 'handover-due'
      | 'controller-due'
      | 'controller-pulled'
      | 'controller-ready'
    >
  | Each<
      'rebooted' | 'boot-due' | 'configured-due' | 'daemon-due' | 'ready-due' | 'reconfigured',
      OfHost
    >
  | Each<'configuring', OfHost & { readonly pivots: boolean }>
  | Each<'request-approved', OfCertificate>
  | Each<'operators-due', OfStep>;

/**
 * An action of the cluster on its API server, a host or a timer. `open-api`: the temporary API
 * server answers, with the objects of bootkube; `render-on-bootstrap`: the Machine Config Operator
 * renders before that; `await-release`: the event `released` follows once the machine-config-server
 * of the bootstrap host can serve; `first-boot`: a host starts with its config, and the event
 * `configuring` follows; `log-request`: a line in the log of the machine-config-server of the
 * bootstrap host; `note-request`: the same on a master, which only the controller sees; `add-node`:
 * a kubelet creates its node, which has no MachineConfig yet; `annotate-node`: its daemon annotates
 * it with the served MachineConfig; `desire-config`: the node controller sets the newly rendered
 * MachineConfig of the pool on a master; `refuse-admins`: the API server does not know the CA of
 * administrators (401), or knows it again; `fail-pull`: the kubelet of a master tries to start the
 * controller; `mark`: the condition of a step's wait is true from now on.
 */
export type Action =
  | Each<'later', { readonly seconds: number; readonly event: ClusterEvent }>
  | Each<
      | 'open-api'
      | 'render-on-bootstrap'
      | 'await-release'
      | 'render-pools'
      | 'end-bootkube'
      | 'move-api'
      | 'complete-bootstrap'
      | 'remove-member'
      | 'fail-pull'
      | 'start-controller'
      | 'forge-requests'
    >
  | Each<
      | 'first-boot'
      | 'log-request'
      | 'note-request'
      | 'add-node'
      | 'annotate-node'
      | 'desire-config'
      | 'reach-config'
      | 'make-ready',
      OfHost
    >
  | Each<'ask-certificate', OfCertificate>
  | Each<'refuse-admins', { readonly isRefused: boolean }>
  | Each<'report-operators', OfStep>
  | Each<'mark', { readonly step: string }>;

/** The state after an event, and the actions of the cluster. */
export interface Turn {
  readonly state: ClusterState;
  readonly actions: readonly Action[];
}

/** The state before a cluster exists. */
export const unborn = ({ members, needsEtcdOverride }: ClusterPlan): ClusterState => ({
  isApiUp: false,
  isConfigServerUp: false,
  isConfigServed: false,
  isOverridden: !needsEtcdOverride,
  isControlPlaneReady: false,
  isBootkubeDone: false,
  isConfigAgreed: false,
  reconfigured: [],
  isBootstrapComplete: false,
  isHandedOver: false,
  isControllerUp: false,
  phases: Object.fromEntries(members.map(({ name }) => [name, 'live' as const])),
  complaints: [],
});

/** Whether a host runs from its disk. */
export const hasLeft = ({ phases }: ClusterState, name: string): boolean =>
  phases[name] !== undefined && phases[name] !== 'live';

/** An event after a delay. */
export const later = (seconds: number, event: ClusterEvent): Action => ({
  kind: 'later',
  seconds,
  event,
});

/** The steps whose waits end with a turn. */
export const endedWaits = ({ actions }: Turn): readonly string[] =>
  actions.flatMap((action) => (action.kind === 'mark' ? [action.step] : []));

/** From now on the condition of a step's wait is met. */
export const mark = (step: string): Action => ({ kind: 'mark', step });

const seconds = (byDefault: number) => z.number().min(0).default(byDefault);

/** Durations of all waits in a cluster, in seconds of the lab. */
export const Pace = z.strictObject({
  /** From the reboot until the installed system requests its Ignition. */
  bootSeconds: seconds(1.5),
  /** From then on until the kubelet requests its certificate, or its node appears. */
  configureSeconds: seconds(1.5),
  /** From the node's appearance until its machine-config-daemon annotates it. */
  daemonSeconds: seconds(0.5),
  /** From the node's appearance until it is Ready. */
  joinSeconds: seconds(1),
  /** From the start of bootkube until the temporary API server answers. */
  apiSeconds: seconds(1),
  /** From then on until the temporary machine-config-server answers. */
  machineConfigServerSeconds: seconds(0.5),
  /** From the first Ready node until the Machine Config Operator has rendered in the cluster. */
  renderSeconds: seconds(0.5),
  /** From the last required node until bootkube is done. */
  bootkubeSeconds: seconds(1),
  /** From then on until the bootstrap is declared complete. */
  etcdSeconds: seconds(1),
  /** From then on until etcd has left the bootstrap host. */
  handoverSeconds: seconds(0.7),
  /**
   * From a new desired MachineConfig on a master until it is applied, and the next master gets it.
   */
  reconfigureSeconds: seconds(2.5),
  /** From bootkube's end until the controller runs. */
  controllerSeconds: seconds(1.5),
  /**
   * Between two steps of the operators of the cluster; the first comes after the bootstrap is
   * complete.
   */
  operatorSeconds: seconds(0.3),
});
export type Pace = z.infer<typeof Pace>;

/** A reported stage of a node, and the pause before it. */
interface TimedStage {
  readonly stage: string;
  readonly afterSeconds: number;
}

/** Kind of a node, which decides its stages after the reboot. */
export type NodeKind = 'control-plane' | 'worker' | 'single-node';

/** The stages of a node after its reboot, as the controller reports them (controller of 2026). */
export function stagesAfterReboot(kind: NodeKind, pace: Pace): readonly TimedStage[] {
  const { bootSeconds, configureSeconds, joinSeconds } = pace;
  const done = { stage: 'Done', afterSeconds: joinSeconds };
  switch (kind) {
    case 'single-node':
      return [{ stage: 'Joined', afterSeconds: bootSeconds + configureSeconds }, done];
    case 'worker':
      return [
        { stage: 'Waiting for ignition', afterSeconds: bootSeconds },
        { stage: 'Configuring', afterSeconds: configureSeconds / 2 },
        { stage: 'Joined', afterSeconds: configureSeconds },
        done,
      ];
    case 'control-plane':
      return [
        { stage: 'Configuring', afterSeconds: bootSeconds },
        { stage: 'Joined', afterSeconds: configureSeconds },
        done,
      ];
  }
}
