import { describe, expect, it } from 'vitest';
import {
  type ClusterPlan,
  type ClusterState,
  type Action,
  type ClusterEvent,
  type Member,
  unborn,
} from './cluster-state.ts';
import { decide } from './decide.ts';
import { Pace } from './pace.ts';

const bootstrap: Member = { name: 'b1', role: 'master', isBootstrap: true };
const member = (name: string, role: Member['role'] = 'master'): Member => ({
  name,
  role,
  isBootstrap: false,
});
const planOf = (fields: Partial<ClusterPlan> = {}): ClusterPlan => ({
  members: [bootstrap, member('m1'), member('m2'), member('w1', 'worker')],
  needsEtcdOverride: false,
  apiMoves: false,
  version: '4.20.1',
  pace: Pace.parse({}),
  ...fields,
});

interface Outcome {
  readonly state: ClusterState;
  /** Actions apart from `later`, in the words of a test: `add-node m1`. */
  readonly actions: readonly string[];
}

const words = (action: Action): string =>
  [
    action.kind,
    'host' in action ? action.host : '',
    'purpose' in action ? action.purpose : '',
    'step' in action ? String(action.step) : '',
    'isRefused' in action ? String(action.isRefused) : '',
  ]
    .filter((word) => word !== '')
    .join(' ');

/** Handles events, each to the end of everything that it lets come later. */
function after(plan: ClusterPlan, ...events: readonly ClusterEvent[]): Outcome {
  return events.reduce<Outcome>((before, first) => handle(plan, before, first), {
    state: unborn(plan),
    actions: [],
  });
}

function handle(
  plan: ClusterPlan,
  { state: begin, actions }: Outcome,
  first: ClusterEvent,
): Outcome {
  let state = begin;
  const done = [...actions];
  const queue: ClusterEvent[] = [first];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const turn = decide(state, next, plan);
    ({ state } = turn);
    queue.push(
      ...turn.actions.flatMap((action) => (action.kind === 'later' ? [action.event] : [])),
    );
    done.push(...turn.actions.filter(({ kind }) => kind !== 'later').map(words));
  }
  return { state, actions: done };
}

const isOfOperators = (action: string): boolean => action.startsWith('report-operators');

const started: ClusterEvent = { kind: 'bootkube-started' };
const rebooted = (host: string): ClusterEvent => ({ kind: 'rebooted', host });
const approved = (host: string): ClusterEvent => ({
  kind: 'request-approved',
  host,
  purpose: 'client',
});

describe('a cluster that starts', () => {
  it('gives no Ignition before its server is up', () => {
    const { state, actions } = after(planOf(), rebooted('m1'));
    expect(state.phases['m1']).toBe('waiting');
    expect(actions).toEqual([]);
  });

  it('gives it to who waits as soon as the server is up', () => {
    const { actions } = after(planOf(), rebooted('m1'), started);
    expect(actions).toEqual([
      'open-api',
      'log-request m1',
      'add-node m1',
      'annotate-node m1',
      'make-ready m1',
      'mark cluster/wait-for-arbiter',
      'render-pools',
    ]);
  });

  it('ends bootkube, the bootstrap and the handover once two masters are ready', () => {
    const { state, actions } = after(planOf(), started, rebooted('m1'), rebooted('m2'));
    const rest = actions.slice(actions.indexOf('make-ready m2'));
    expect(rest.filter((action) => !isOfOperators(action))).toEqual([
      'make-ready m2',
      'mark cluster/wait-for-masters',
      'mark cluster/wait-for-arbiter',
      'desire-config m1',
      'end-bootkube',
      'mark cluster/wait-for-bootkube',
      'reach-config m1',
      'desire-config m2',
      'mark cluster/wait-for-machine-configs',
      'complete-bootstrap',
      'mark cluster/wait-for-etcd',
      'start-controller',
      'reach-config m2',
      'remove-member',
      'mark cluster/wait-for-etcd-handover',
    ]);
    expect(state).toMatchObject({ isHandedOver: true, isControllerUp: false, complaints: [] });
  });

  it('lets masters differ for a while in what they are to be, one after the other', () => {
    const masters = [started, rebooted('m1'), rebooted('m2')];
    const { state, actions } = after(planOf(), ...masters, rebooted('b1'), approved('b1'));
    const ofConfigs = /config|annotate/;
    expect(actions.filter((action) => ofConfigs.test(action))).toEqual([
      ...['annotate-node m1', 'annotate-node m2', 'desire-config m1', 'reach-config m1'],
      ...['desire-config m2', 'mark cluster/wait-for-machine-configs', 'reach-config m2'],
      'annotate-node b1',
    ]);
    expect(state).toMatchObject({ isConfigAgreed: true, reconfigured: ['m1', 'm2', 'b1'] });
  });

  it('starts the controller only when its image can be pulled', () => {
    const plan = planOf({ controllerPullFailsSeconds: 5 });
    const { actions } = after(plan, started, rebooted('m1'), rebooted('m2'));
    expect(actions.filter((action) => /pull|controller/.test(action))).toEqual([
      ...['fail-pull', 'start-controller'],
    ]);
    expect(after(plan, { kind: 'controller-ready' })).toMatchObject({
      state: { isControllerUp: true },
      actions: ['mark cluster/wait-for-controller'],
    });
  });

  it('brings its operators up to where they need a worker, and on with the first', () => {
    const begin = [started, rebooted('m1'), rebooted('m2')];
    const { state, actions } = after(planOf(), ...begin);
    expect(actions.filter(isOfOperators)).toHaveLength(8);
    expect(state.heldStep).toBe(9);
    const workers = [rebooted('b1'), approved('b1'), rebooted('w1'), approved('w1')];
    expect(after(planOf(), ...begin, ...workers).actions.filter(isOfOperators)).toHaveLength(12);
  });

  it('complains of an etcd that is left with one member', () => {
    const plan = planOf({ needsEtcdOverride: true });
    const seen: ClusterEvent = { kind: 'override-seen' };
    const { state } = after(plan, started, rebooted('m1'), seen);
    expect(state.complaints).toEqual(['etcd was left with 1 member']);
  });

  it('waits for the override where etcd needs it', () => {
    const plan = planOf({ needsEtcdOverride: true });
    const before = after(plan, started, rebooted('m1'), rebooted('m2'));
    expect(before.actions).not.toContain('end-bootkube');
    const seen: ClusterEvent = { kind: 'override-seen' };
    expect(after(plan, started, rebooted('m1'), rebooted('m2'), seen).actions).toContain(
      'end-bootkube',
    );
  });

  it('moves its API before bootkube ends, where it moves', () => {
    const { actions } = after(planOf({ apiMoves: true }), started, rebooted('m1'), rebooted('m2'));
    expect(actions.indexOf('move-api')).toBeLessThan(actions.indexOf('end-bootkube'));
    expect(actions).toContain('move-api');
  });

  it('refuses administrators from before bootkube ends, for a while', () => {
    const plan = planOf({ apiMoves: true, adminsRefusedSeconds: 60 });
    const { actions } = after(plan, started, rebooted('m1'), rebooted('m2'));
    expect(actions.filter((action) => /api$|admins|end-/.test(action))).toEqual([
      ...['open-api', 'move-api', 'refuse-admins true', 'end-bootkube', 'refuse-admins false'],
    ]);
  });

  it('lets the bootstrap host join by certificates that somebody approves', () => {
    const masters = [started, rebooted('m1'), rebooted('m2')];
    const waiting = after(planOf(), ...masters, rebooted('b1'));
    expect(waiting.state.phases['b1']).toBe('unapproved');
    expect(waiting.actions).toContain('note-request b1');
    const isUp: ClusterEvent = { kind: 'controller-ready' };
    const { state, actions } = after(planOf(), ...masters, isUp, rebooted('b1'), approved('b1'));
    expect(state.phases['b1']).toBe('ready');
    expect(actions.slice(actions.indexOf('add-node b1'))).toEqual(
      expect.arrayContaining(['add-node b1', 'ask-certificate b1 serving', 'make-ready b1']),
    );
    expect(state.complaints).toEqual([]);
  });

  it('does nothing at an approval that comes twice', () => {
    const before = [started, rebooted('m1'), rebooted('m2'), rebooted('b1'), approved('b1')];
    const once = after(planOf(), ...before);
    expect(after(planOf(), ...before, approved('b1')).actions).toEqual(once.actions);
  });

  it('complains of a bootstrap host that goes too early', () => {
    const { state } = after(planOf(), started, rebooted('m1'), rebooted('b1'));
    expect(state.complaints).toHaveLength(4);
    expect(state.isConfigServed).toBe(false);
  });

  it('waits for an arbiter too', () => {
    const plan = planOf({ members: [bootstrap, member('m1'), member('a1', 'arbiter')] });
    expect(after(plan, started, rebooted('m1')).actions).not.toContain('end-bootkube');
    expect(after(plan, started, rebooted('m1'), rebooted('a1')).actions).toContain('end-bootkube');
  });

  it('starts bootkube again without harm', () => {
    expect(after(planOf(), started, started).actions).toEqual(['open-api']);
  });
});

describe('a cluster whose operating systems are built', () => {
  const plan = planOf({ isLayered: true });
  const released: ClusterEvent = { kind: 'released' };
  const configuring = (host: string, pivots = false): ClusterEvent => ({
    kind: 'configuring',
    host,
    pivots,
  });

  it('renders before its API is up, and serves nothing before it is released', () => {
    const { state, actions } = after(plan, started, rebooted('m1'));
    expect(actions).toEqual(['render-on-bootstrap', 'open-api', 'await-release']);
    expect(state.phases['m1']).toBe('waiting');
    expect(state).toMatchObject({ isConfigServerUp: true, isConfigServed: false });
  });

  it('lets a host start with what it is served, and renders when the first node is Ready', () => {
    const begin = [started, rebooted('m1'), rebooted('m2'), released];
    const { actions } = after(plan, ...begin, configuring('m1'), configuring('m2'));
    expect(actions.filter((action) => / m1$|^render-pools$/.test(action))).toEqual([
      'log-request m1',
      'first-boot m1',
      'add-node m1',
      'annotate-node m1',
      'make-ready m1',
      'render-pools',
    ]);
    expect(actions.filter((action) => action === 'render-pools')).toHaveLength(1);
  });

  it('takes as much longer as a start does where the disk held another system', () => {
    const { pace } = plan;
    const secondsFor = (pivots: boolean): unknown =>
      decide(unborn(plan), configuring('m1', pivots), plan).actions.map((action) =>
        action.kind === 'later' ? action.seconds : 0,
      );
    expect(secondsFor(false)).toEqual([pace.configureSeconds]);
    expect(secondsFor(true)).toEqual([pace.configureSeconds + pace.bootSeconds]);
  });
});
