// The start of a cluster as a pure function from events to actions.
import {
  type ClusterPlan,
  type ClusterState,
  type Action,
  type ClusterEvent,
  hasLeft,
  type HostPhase,
  later,
  mark,
  type Member,
  type Purpose,
  type Turn,
} from './cluster-state.ts';
import { hasEnoughMembers, memberHosts } from './etcd.ts';
import { agreed, reconfigure } from './machine-configs.ts';
import { lastStep, needsWorkload } from './operators.ts';

type Decide<Kind extends ClusterEvent['kind']> = (
  state: ClusterState,
  event: Extract<ClusterEvent, { kind: Kind }>,
  plan: ClusterPlan,
) => Turn;

const stay = (state: ClusterState): Turn => ({ state, actions: [] });
const bootstrapOf = ({ members }: ClusterPlan): string =>
  members.find(({ isBootstrap }) => isBootstrap)?.name ?? '';

function withPhase(state: ClusterState, host: string, phase: HostPhase): ClusterState {
  return { ...state, phases: { ...state.phases, [host]: phase } };
}

const decisions: { readonly [Kind in ClusterEvent['kind']]: Decide<Kind> } = {
  'bootkube-started': (state, _, { pace }) =>
    state.isApiUp ? stay(state) : { state, actions: [later(pace.apiSeconds, { kind: 'api-due' })] },

  'api-due': (state, _, { pace, isLayered = false }) => ({
    state: { ...state, isApiUp: true },
    actions: [
      ...(isLayered ? [{ kind: 'render-on-bootstrap' } as const] : []),
      { kind: 'open-api' },
      later(pace.machineConfigServerSeconds, { kind: 'config-server-due' }),
    ],
  }),

  'config-server-due': (state, _, plan) => {
    const next = { ...state, isConfigServerUp: true };
    return plan.isLayered === true
      ? { state: next, actions: [{ kind: 'await-release' }] }
      : serveConfig(next, plan);
  },

  released: (state, _, plan) => serveConfig(state, plan),

  rebooted: (state, { host }, plan) => {
    const next = withPhase(state, host, 'booting');
    const actions = [later(plan.pace.bootSeconds, { kind: 'boot-due', host })];
    if (host !== bootstrapOf(plan)) return { state: next, actions };
    const isServed = state.isBootkubeDone;
    return { state: { ...complaining(next), isConfigServed: isServed }, actions };
  },

  'boot-due': (state, { host }, plan) => {
    if (host === plan.neverJoins) return stay(state);
    return state.isConfigServed
      ? giveConfig(state, host, plan)
      : stay(withPhase(state, host, 'waiting'));
  },

  configuring: (state, { host, pivots }, { pace }) => {
    const seconds = pace.configureSeconds + (pivots ? pace.bootSeconds : 0);
    return { state, actions: [later(seconds, { kind: 'configured-due', host })] };
  },

  'render-due': (state, _, { isLayered = false }) => ({
    state: { ...state, isConfigAgreed: isLayered },
    actions: [{ kind: 'render-pools' }, ...(isLayered ? [agreed] : [])],
  }),

  // A host that joins late is served the pool's current rendered config.
  'daemon-due': (state, { host }) => ({
    state: state.isBootkubeDone ? { ...state, reconfigured: [...state.reconfigured, host] } : state,
    actions: [{ kind: 'annotate-node', host }],
  }),

  reconfigured: (state, { host }, plan) => {
    const { state: next, actions } = reconfigure(state, plan);
    return { state: next, actions: [{ kind: 'reach-config', host }, ...actions] };
  },

  'configured-due': (state, { host }, plan) => {
    // On the bootstrap host a unit approves all requests while it runs.
    if (!hasLeft(state, bootstrapOf(plan))) return join(state, host, plan);
    const ask: Action = { kind: 'ask-certificate', host, purpose: 'client' };
    return { state: withPhase(state, host, 'unapproved'), actions: [ask] };
  },

  'request-approved': (state, { host, purpose }, plan) =>
    approvalCounts(state, host, purpose) ? joinApproved(state, host, plan) : stay(state),

  'ready-due': (state, { host }, plan) => {
    const turn = whenEnough(withPhase(state, host, 'ready'), plan);
    const actions = [
      { kind: 'make-ready', host } as const,
      ...firstReady(state, plan),
      ...turn.actions,
      ...(state.heldStep === undefined
        ? []
        : [later(0, { kind: 'operators-due', step: state.heldStep })]),
    ];
    return { state: { ...turn.state, heldStep: undefined }, actions };
  },

  'override-seen': (state, _, plan) => whenEnough({ ...state, isOverridden: true }, plan),

  'bootkube-due': (state, _, plan) => {
    const { pace, apiMoves, adminsRefusedSeconds: refused = 0 } = plan;
    const next = reconfigure({ ...state, isBootkubeDone: true }, plan);
    const moved = serveConfig(next.state, plan);
    return {
      state: moved.state,
      actions: [
        ...(apiMoves ? [{ kind: 'move-api' } as const] : []),
        ...(refused === 0 ? [] : refuseAdmins(refused)),
        ...next.actions,
        { kind: 'end-bootkube' },
        mark('cluster/wait-for-bootkube'),
        later(pace.etcdSeconds, { kind: 'complete-due' }),
        later(pace.controllerSeconds, { kind: 'controller-due' }),
        ...moved.actions,
      ],
    };
  },

  // Conditions that became true meanwhile could not be seen.
  'admins-known': (state) => ({
    state,
    actions: [
      { kind: 'refuse-admins', isRefused: false },
      ...(state.isControllerUp ? [mark('cluster/wait-for-controller')] : []),
      ...(state.isConfigAgreed ? [agreed] : []),
      ...(state.isHandedOver ? [mark('cluster/wait-for-etcd-handover')] : []),
    ],
  }),

  'complete-due': (state, _, { pace }) => ({
    state: { ...state, isBootstrapComplete: true },
    actions: [
      { kind: 'complete-bootstrap' },
      mark('cluster/wait-for-etcd'),
      later(pace.handoverSeconds, { kind: 'handover-due' }),
      later(pace.operatorSeconds, { kind: 'operators-due', step: 1 }),
    ],
  }),

  'handover-due': (state, _, plan) => ({
    state: withoutMember(state, plan),
    actions: [{ kind: 'remove-member' }, mark('cluster/wait-for-etcd-handover')],
  }),

  'controller-due': (state, _, plan) => {
    const { controllerPullFailsSeconds: seconds = 0 } = plan;
    if (seconds === 0) return { state, actions: [{ kind: 'start-controller' }] };
    return {
      state,
      actions: [{ kind: 'fail-pull' }, later(seconds, { kind: 'controller-pulled' })],
    };
  },

  'controller-pulled': (state) => ({ state, actions: [{ kind: 'start-controller' }] }),

  'controller-ready': (state, _, { forgesRequests = false }) => ({
    state: { ...state, isControllerUp: true },
    actions: [
      ...(forgesRequests ? [{ kind: 'forge-requests' } as const] : []),
      mark('cluster/wait-for-controller'),
    ],
  }),

  'operators-due': (state, { step }, plan) => {
    if (needsWorkload(step) && !takesWorkload(state, plan))
      return stay({ ...state, heldStep: step });
    // The forged requests exist half a minute before the installation ends, whatever its duration.
    if (plan.forgesRequests === true && !state.isControllerUp)
      return {
        state,
        actions: [later(plan.pace.operatorSeconds, { kind: 'operators-due', step })],
      };
    const report: Action = { kind: 'report-operators', step };
    const next = later(plan.pace.operatorSeconds, { kind: 'operators-due', step: step + 1 });
    return {
      state: { ...state, heldStep: undefined },
      actions: step < lastStep ? [report, next] : [report],
    };
  },
};

/** Routers run on workers, and on masters in a cluster without workers. */
const takesWorkload = ({ phases }: ClusterState, { members }: ClusterPlan): boolean => {
  const workers = members.filter(({ role }) => role === 'worker');
  return workers.length === 0 || workers.some(({ name }) => phases[name] === 'ready');
};

/** The next state of a cluster after an event, with its actions. */
export function decide(state: ClusterState, event: ClusterEvent, plan: ClusterPlan): Turn {
  const run = decisions[event.kind] as Decide<ClusterEvent['kind']>;
  return run(state, event, plan);
}

const refuseAdmins = (seconds: number): readonly Action[] => [
  { kind: 'refuse-admins', isRefused: true },
  later(seconds, { kind: 'admins-known' }),
];

/** A machine-config-server that answers serves their Ignition to all waiting hosts. */
function serveConfig(state: ClusterState, plan: ClusterPlan): Turn {
  const waiting = Object.keys(state.phases).filter((name) => state.phases[name] === 'waiting');
  const begin: Turn = stay({ ...state, isConfigServed: true });
  return waiting.reduce((turn, host) => {
    const next = giveConfig(turn.state, host, plan);
    return { state: next.state, actions: [...turn.actions, ...next.actions] };
  }, begin);
}

function giveConfig(state: ClusterState, host: string, plan: ClusterPlan): Turn {
  const isHere = !hasLeft(state, bootstrapOf(plan));
  return {
    state: withPhase(state, host, 'configuring'),
    actions: [
      { kind: isHere ? 'log-request' : 'note-request', host },
      plan.isLayered === true
        ? { kind: 'first-boot', host }
        : later(plan.pace.configureSeconds, { kind: 'configured-due', host }),
    ],
  };
}

/** The controllers of the cluster cannot run before the first node is Ready. */
function firstReady({ phases }: ClusterState, { pace }: ClusterPlan): readonly Action[] {
  const isFirst = !Object.values(phases).includes('ready');
  return isFirst ? [later(pace.renderSeconds, { kind: 'render-due' })] : [];
}

function join(state: ClusterState, host: string, { pace }: ClusterPlan): Turn {
  return {
    state: withPhase(state, host, 'joining'),
    actions: [
      { kind: 'add-node', host },
      later(pace.daemonSeconds, { kind: 'daemon-due', host }),
      later(pace.joinSeconds, { kind: 'ready-due', host }),
    ],
  };
}

const approvalCounts = (state: ClusterState, host: string, purpose: Purpose): boolean =>
  purpose === 'client' && state.phases[host] === 'unapproved';

/**
 * With its client certificate the kubelet creates its node, and requests the serving certificate.
 */
function joinApproved(state: ClusterState, host: string, plan: ClusterPlan): Turn {
  const { state: next, actions } = join(state, host, plan);
  return {
    state: next,
    actions: [...actions, { kind: 'ask-certificate', host, purpose: 'serving' }],
  };
}

/** The operator removes the bootstrap host's member, whatever the number of the others. */
function withoutMember(state: ClusterState, plan: ClusterPlan): ClusterState {
  const left = memberHosts(plan, state).length;
  const complaints = left < 2 ? [`etcd was left with ${left} member`] : [];
  return { ...state, isHandedOver: true, complaints: [...state.complaints, ...complaints] };
}

/** bootkube ends once enough nodes are Ready, and etcd starts on them. */
function whenEnough(state: ClusterState, plan: ClusterPlan): Turn {
  if (state.isControlPlaneReady) return stay(state);
  const isEnough = hasEnoughMembers(plan, state);
  const isAwaited = (role: Member['role']): boolean =>
    plan.members.some(
      ({ name, role: its, isBootstrap }) =>
        its === role && !isBootstrap && state.phases[name] !== 'ready',
    );
  const hasQuorum = memberHosts(plan, state).length >= 2;
  const marks = [
    ...(hasQuorum || !isAwaited('master') ? [mark('cluster/wait-for-masters')] : []),
    ...(isAwaited('arbiter') ? [] : [mark('cluster/wait-for-arbiter')]),
  ];
  if (!isEnough) return { state, actions: marks };
  return {
    state: { ...state, isControlPlaneReady: true },
    actions: [...marks, later(plan.pace.bootkubeSeconds, { kind: 'bootkube-due' })],
  };
}

/** A bootstrap host that reboots too early removes something that the cluster still needs. */
function complaining(state: ClusterState): ClusterState {
  const missing = [
    ...(state.isBootkubeDone ? [] : ['bootkube was done']),
    ...(state.isHandedOver ? [] : ['etcd had left it']),
    ...(state.isConfigAgreed ? [] : ['the masters agreed on a MachineConfig']),
    ...(state.isControllerUp ? [] : ['the controller ran']),
  ];
  const complaints = missing.map((what) => `the bootstrap host rebooted before ${what}`);
  return { ...state, complaints: [...state.complaints, ...complaints] };
}
