// How a cluster starts, as a pure function: an event comes in, actions come out.
import {
  type ClusterPlan,
  type ClusterState,
  type Action,
  type ClusterEvent,
  hasLeft,
  type HostPhase,
  type Member,
  type Purpose,
  type Turn,
} from './cluster-state.ts';

/** How many nodes of a role must be Ready before bootkube ends (openshift/installer: one less than asked for, two at most). */
export function neededNodes(members: readonly Member[], role: 'master' | 'arbiter'): number {
  const asked = members.filter((member) => member.role === role).length;
  return role === 'master' ? Math.max(0, Math.min(asked - 1, 2)) : Math.min(asked, 1);
}

type Decide<Kind extends ClusterEvent['kind']> = (
  state: ClusterState,
  event: Extract<ClusterEvent, { kind: Kind }>,
  plan: ClusterPlan,
) => Turn;

const later = (seconds: number, event: ClusterEvent): Action => ({
  kind: 'later',
  seconds,
  event,
});
const mark = (step: string): Action => ({ kind: 'mark', step });
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

  'boot-due': (state, { host }, plan) =>
    state.isConfigServed ? giveConfig(state, host, plan) : stay(withPhase(state, host, 'waiting')),

  configuring: (state, { host, pivots }, { pace }) => {
    const seconds = pace.configureSeconds + (pivots ? pace.bootSeconds : 0);
    return { state, actions: [later(seconds, { kind: 'configured-due', host })] };
  },

  'render-due': (state) => ({ state, actions: [{ kind: 'render-pools' }] }),

  'configured-due': (state, { host }, plan) => {
    // On the bootstrap host a unit approves whatever asks, as long as it runs.
    if (!hasLeft(state, bootstrapOf(plan))) return join(state, host, plan);
    const ask: Action = { kind: 'ask-certificate', host, purpose: 'client' };
    return withNextPoll(withPhase(state, host, 'unapproved'), [ask], plan);
  },

  'request-approved': (state, { host, purpose }, plan) =>
    approvalCounts(state, host, purpose) ? joinApproved(state, host, plan) : stay(state),

  'ready-due': (state, { host }, plan) => {
    const turn = whenEnough(withPhase(state, host, 'ready'), plan);
    const actions = [
      { kind: 'make-ready', host } as const,
      ...firstReady(state, plan),
      ...turn.actions,
    ];
    return withNextPoll(turn.state, actions, plan);
  },

  'override-seen': (state, { isSet }, plan) =>
    isSet ? whenEnough({ ...state, isOverridden: true }, plan) : stay(state),

  'bootkube-due': (state, _, plan) => {
    const { pace, apiMoves } = plan;
    const moved = serveConfig({ ...state, isBootkubeDone: true }, plan);
    return {
      state: moved.state,
      actions: [
        ...(apiMoves ? [{ kind: 'move-api' } as const] : []),
        { kind: 'end-bootkube' },
        mark('cluster/wait-for-bootkube'),
        later(pace.etcdSeconds, { kind: 'complete-due' }),
        later(pace.controllerSeconds, { kind: 'controller-due' }),
        ...moved.actions,
      ],
    };
  },

  'complete-due': (state, _, { pace }) => ({
    state: { ...state, isBootstrapComplete: true },
    actions: [
      { kind: 'complete-bootstrap' },
      mark('cluster/wait-for-etcd'),
      later(pace.handoverSeconds, { kind: 'handover-due' }),
    ],
  }),

  'handover-due': (state) => ({
    state: { ...state, isHandedOver: true },
    actions: [{ kind: 'remove-member' }, mark('cluster/wait-for-etcd-handover')],
  }),

  'controller-due': (state, _, plan) =>
    withNextPoll(
      { ...state, isControllerUp: true },
      [{ kind: 'start-controller' }, mark('cluster/wait-for-controller')],
      plan,
    ),

  'poll-due': (state) => ({ state: { ...state, isPollDue: false }, actions: [{ kind: 'poll' }] }),
};

/** What a event makes of a cluster. */
export function decide(state: ClusterState, event: ClusterEvent, plan: ClusterPlan): Turn {
  const run = decisions[event.kind] as Decide<ClusterEvent['kind']>;
  return run(state, event, plan);
}

/** A machine-config-server that answers gives their Ignition to all that wait for it. */
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
  return withNextPoll(
    withPhase(state, host, 'configuring'),
    [
      { kind: isHere ? 'log-request' : 'note-request', host },
      plan.isLayered === true
        ? { kind: 'first-boot', host }
        : later(plan.pace.configureSeconds, { kind: 'configured-due', host }),
    ],
    plan,
  );
}

/** The controllers of the cluster have nowhere to run before the first node is Ready. */
function firstReady(
  { phases }: ClusterState,
  { pace, isLayered = false }: ClusterPlan,
): readonly Action[] {
  const isFirst = !Object.values(phases).includes('ready');
  return isLayered && isFirst ? [later(pace.renderSeconds, { kind: 'render-due' })] : [];
}

function join(state: ClusterState, host: string, plan: ClusterPlan): Turn {
  return withNextPoll(
    withPhase(state, host, 'joining'),
    [
      { kind: 'add-node', host },
      ...(roleOf(plan, host) === 'master' ? [mark('cluster/wait-for-machine-configs')] : []),
      later(plan.pace.joinSeconds, { kind: 'ready-due', host }),
    ],
    plan,
  );
}

const approvalCounts = (state: ClusterState, host: string, purpose: Purpose): boolean =>
  purpose === 'client' && state.phases[host] === 'unapproved';

/** With its first certificate the kubelet makes its node, and asks for the other one. */
function joinApproved(state: ClusterState, host: string, plan: ClusterPlan): Turn {
  const { state: next, actions } = join(state, host, plan);
  return {
    state: next,
    actions: [...actions, { kind: 'ask-certificate', host, purpose: 'serving' }],
  };
}

const roleOf = ({ members }: ClusterPlan, host: string): Member['role'] | undefined =>
  members.find(({ name }) => name === host)?.role;

function readyOf(state: ClusterState, { members }: ClusterPlan, role: Member['role']): number {
  return members.filter((member) => member.role === role && state.phases[member.name] === 'ready')
    .length;
}

/** bootkube ends once enough nodes are Ready, and etcd starts on them. */
function whenEnough(state: ClusterState, plan: ClusterPlan): Turn {
  const isReady = (role: 'master' | 'arbiter'): boolean =>
    readyOf(state, plan, role) >= neededNodes(plan.members, role);
  const marks = [
    ...(isReady('master') ? [mark('cluster/wait-for-masters')] : []),
    ...(isReady('arbiter') ? [mark('cluster/wait-for-arbiter')] : []),
  ];
  if (state.isControlPlaneReady) return stay(state);
  const isEnough = isReady('master') && isReady('arbiter') && state.isOverridden;
  if (!isEnough) return { state, actions: marks };
  return {
    state: { ...state, isControlPlaneReady: true },
    actions: [...marks, later(plan.pace.bootkubeSeconds, { kind: 'bootkube-due' })],
  };
}

/** Adds the next look of the controller, unless one is due. */
function withNextPoll(
  state: ClusterState,
  actions: readonly Action[],
  { pace }: ClusterPlan,
): Turn {
  if (!state.isControllerUp || state.isPollDue) return { state, actions };
  const next = later(pace.controllerPollSeconds, { kind: 'poll-due' });
  return { state: { ...state, isPollDue: true }, actions: [...actions, next] };
}

/** A bootstrap host that goes too early takes something with it that the cluster still needs. */
function complaining(state: ClusterState): ClusterState {
  const missing = [
    ...(state.isBootkubeDone ? [] : ['bootkube was done']),
    ...(state.isHandedOver ? [] : ['etcd had left it']),
    ...(state.isControllerUp ? [] : ['the controller ran']),
  ];
  const complaints = missing.map((what) => `the bootstrap host rebooted before ${what}`);
  return { ...state, complaints: [...state.complaints, ...complaints] };
}
