import { z } from 'zod';
import { operatorNames } from './operators.ts';
import type { Pace } from './pace.ts';

/** A host that shall be a node of the cluster. */
export interface Member {
  /** Name of the host and of its node. */
  readonly name: string;
  readonly role: 'master' | 'arbiter' | 'worker';
  readonly isBootstrap: boolean;
}

/** What a scenario may say of a cluster that starts, as fields of it. */
export const clusterFields = {
  /** The API moves from the temporary server to another one when bootkube is done. */
  apiMoves: z.boolean().default(false),
  /** bootkube crashes until systemd gives it up (`start-limit-hit`). */
  bootkubeCrashes: z.boolean().default(false),
  /** bootkube fails so often before it brings up the API, and is started again each time. */
  bootkubeFails: z.int().min(0).default(0),
  /** progress.service fails so often before it reports the bootstrap complete. */
  progressFails: z.int().min(0).default(0),
  /**
   * From bootkube's end on its API server refuses the certificates of administrators for so long.
   */
  adminsRefusedSeconds: z.number().min(0).default(0),
  /** For so long no kubelet can pull the image of the controller. */
  controllerPullFailsSeconds: z.number().min(0).default(0),
  /**
   * The controller is killed when its log says the first of these, its successor at the second, and
   * so on.
   */
  controllerDies: z.array(z.string()).default([]),
  /** The operator that fails, and never becomes available. */
  stuckOperator: z.enum(operatorNames).optional(),
  /** Certificate requests come in that nobody may approve. */
  forgesRequests: z.boolean().default(false),
};

/** What kind of cluster is started. */
export interface ClusterPlan extends Partial<z.infer<z.ZodObject<typeof clusterFields>>> {
  readonly members: readonly Member[];
  /** etcd of this release does not start with less than three members unless it is let. */
  readonly needsEtcdOverride: boolean;
  /** Operating systems are built while it starts; what nodes boot is simulated. */
  readonly isLayered?: boolean;
  /** Of OpenShift. */
  readonly version: string;
  readonly pace: Pace;
}

/**
 * Where a host is: `live` it runs from its medium; `booting` it starts from its disk; `waiting` for
 * a machine-config-server that answers; `configuring` with its Ignition; `unapproved` its kubelet
 * waits for a certificate; `joining` its node is there, NotReady; `ready`.
 */
export type HostPhase =
  'live' | 'booting' | 'waiting' | 'configuring' | 'unapproved' | 'joining' | 'ready';

/** Everything that is so in the cluster now. */
export interface ClusterState {
  readonly isApiUp: boolean;
  /**
   * There is a machine-config-server on the bootstrap host, which may have nothing to serve yet.
   */
  readonly isConfigServerUp: boolean;
  /** The machine-config-server answers, here or there. */
  readonly isConfigServed: boolean;
  readonly isOverridden: boolean;
  /** Enough nodes are Ready, so that bootkube is about to end. */
  readonly isControlPlaneReady: boolean;
  readonly isBootkubeDone: boolean;
  /** All masters are told the same MachineConfig, which is in the cluster. */
  readonly isConfigAgreed: boolean;
  /** Masters that were told what their pool was rendered as since they booted. */
  readonly reconfigured: readonly string[];
  readonly isBootstrapComplete: boolean;
  /** etcd has no member on the bootstrap host any more. */
  readonly isHandedOver: boolean;
  /** The controller has said that it works. */
  readonly isControllerUp: boolean;
  /** The step of the operators for which a node that takes workload is missing. */
  readonly heldStep?: number | undefined;
  readonly phases: Readonly<Record<string, HostPhase>>;
  /** What an installer must not do, and did. */
  readonly complaints: readonly string[];
}

/** Purposes of a kubelet's certificates. */
export type Purpose = 'client' | 'serving';

/** Something happened to the hosts, in the cluster, or because its time had come. */
export type ClusterEvent =
  | { readonly kind: 'bootkube-started' }
  | { readonly kind: 'rebooted'; readonly host: string }
  | { readonly kind: 'override-seen' }
  | { readonly kind: 'request-approved'; readonly host: string; readonly purpose: Purpose }
  | { readonly kind: 'api-due' }
  | { readonly kind: 'config-server-due' }
  /** The machine-config-server of the bootstrap host has what it serves. */
  | { readonly kind: 'released' }
  /**
   * A host has its config; `pivots` when its disk held another system, so that it starts once more.
   */
  | { readonly kind: 'configuring'; readonly host: string; readonly pivots: boolean }
  | { readonly kind: 'render-due' }
  | { readonly kind: 'boot-due'; readonly host: string }
  | { readonly kind: 'configured-due'; readonly host: string }
  | { readonly kind: 'daemon-due'; readonly host: string }
  | { readonly kind: 'ready-due'; readonly host: string }
  /** The daemon of a master has brought it to the MachineConfig that it was told. */
  | { readonly kind: 'reconfigured'; readonly host: string }
  | { readonly kind: 'bootkube-due' }
  /** An operator has given the API server the authority of administrators. */
  | { readonly kind: 'admins-known' }
  | { readonly kind: 'complete-due' }
  | { readonly kind: 'handover-due' }
  | { readonly kind: 'controller-due' }
  /** Its image can be pulled from now on. */
  | { readonly kind: 'controller-pulled' }
  /** It has created its event. */
  | { readonly kind: 'controller-ready' }
  /** The operators of the cluster are a step further; see `operatorNames`. */
  | { readonly kind: 'operators-due'; readonly step: number };

/** Something that the cluster does to its API server, to a host or to time. */
export type Action =
  | { readonly kind: 'later'; readonly seconds: number; readonly event: ClusterEvent }
  /** The temporary API server answers, and has what bootkube puts into it. */
  | { readonly kind: 'open-api' }
  /** The Machine Config Operator renders on the bootstrap host, before there is an API server. */
  | { readonly kind: 'render-on-bootstrap' }
  /** `released` happens once the machine-config-server of the bootstrap host can serve. */
  | { readonly kind: 'await-release' }
  /** A host starts with its config; then `configuring` happens. */
  | { readonly kind: 'first-boot'; readonly host: string }
  /** It renders in the cluster. */
  | { readonly kind: 'render-pools' }
  /** A line in the log of the machine-config-server of the bootstrap host. */
  | { readonly kind: 'log-request'; readonly host: string }
  /** The same on a master, where only the controller sees it. */
  | { readonly kind: 'note-request'; readonly host: string }
  | { readonly kind: 'ask-certificate'; readonly host: string; readonly purpose: Purpose }
  /** A kubelet makes its node, of whose MachineConfig nothing is known yet. */
  | { readonly kind: 'add-node'; readonly host: string }
  /** The machine-config-daemon says on the node what it was served. */
  | { readonly kind: 'annotate-node'; readonly host: string }
  /** The node controller tells a master what its pool is rendered as now. */
  | { readonly kind: 'desire-config'; readonly host: string }
  | { readonly kind: 'reach-config'; readonly host: string }
  | { readonly kind: 'make-ready'; readonly host: string }
  | { readonly kind: 'end-bootkube' }
  | { readonly kind: 'move-api' }
  /** The API server does not know the authority of administrators (401), or does again. */
  | { readonly kind: 'refuse-admins'; readonly isRefused: boolean }
  | { readonly kind: 'complete-bootstrap' }
  | { readonly kind: 'remove-member' }
  /** The kubelet of a master tries to start the controller. */
  | { readonly kind: 'fail-pull' }
  | { readonly kind: 'start-controller' }
  | { readonly kind: 'forge-requests' }
  | { readonly kind: 'report-operators'; readonly step: number }
  /** What a step waits for is true from now on. */
  | { readonly kind: 'mark'; readonly step: string };

/** The state after a event, and what the cluster does. */
export interface Turn {
  readonly state: ClusterState;
  readonly actions: readonly Action[];
}

/** A cluster of which nothing exists. */
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

/** Something that happens by itself after a while. */
export const later = (seconds: number, event: ClusterEvent): Action => ({
  kind: 'later',
  seconds,
  event,
});

/** The steps whose waits end with it. */
export const endedWaits = ({ actions }: Turn): readonly string[] =>
  actions.flatMap((action) => (action.kind === 'mark' ? [action.step] : []));

/** From now on nothing is missing for what a step waits for. */
export const mark = (step: string): Action => ({ kind: 'mark', step });
