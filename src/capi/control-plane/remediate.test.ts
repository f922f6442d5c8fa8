import { describe, expect, it } from 'vitest';
import { controlPlaneOf, controlPlaneUid } from '../../../test/support/capi-world.ts';
import { seconds } from '../../model/duration.ts';
import {
  type ApiCondition,
  type BootstrapConfig,
  type ControlPlaneSpec,
  capiNames,
  type Machine,
  ownNames,
} from '../api.ts';
import type { Stage } from '../../model/stage.ts';
import { type Remediations, remediations, toBeFollowed } from './remediate.ts';
import { viewOf } from './view.ts';

const at = '2026-11-27T12:00:00Z';
const now = Date.parse(at);
const ago = (time: number): string => new Date(now - seconds(time)).toISOString();

const condition = (type: string, status: ApiCondition['status']): ApiCondition => ({
  type,
  status,
  reason: 'x',
  lastTransitionTime: at,
});
const marks = [condition('HealthCheckSucceeded', 'False'), condition('OwnerRemediated', 'False')];

interface Master {
  readonly isMarked?: boolean;
  readonly isReady?: boolean;
  readonly isMember?: boolean;
  /** Its pod of etcd is ready, although it is not a member. */
  readonly isPodReady?: boolean;
  readonly isDeleting?: boolean;
  readonly isNode?: boolean;
  /** Its infrastructure reports the address of the master with this index. */
  readonly hasAddressOf?: number;
  readonly isBootstrap?: boolean;
  /** The last stage that its host reported. */
  readonly stage?: Stage;
  /** A person has annotated its Machine to be replaced. */
  readonly isChosen?: boolean;
  /** Another annotation of its Machine. */
  readonly annotation?: string;
  /** Age of its Machine in seconds. */
  readonly age?: number;
  readonly conditions?: readonly ApiCondition[];
  readonly remediationFor?: { readonly at: string; readonly retry: number };
}

interface World {
  readonly masters: readonly Master[];
  readonly spec?: Partial<ControlPlaneSpec>;
  readonly isComplete?: boolean;
  /** The annotation of the control plane names the master with this index, or one that is gone. */
  readonly remediates?: number;
  /** The text of that annotation. */
  readonly record?: string;
  /** Members of etcd whose host is gone. */
  readonly strangers?: number;
  readonly knowsEtcd?: boolean;
  readonly isPaused?: boolean;
  readonly isDeleting?: boolean;
  readonly hasAssets?: boolean;
}

const addressOf = (index: number): string => `192.0.2.${index + 1}`;
const recordOf = (index: number): string =>
  JSON.stringify({ machine: `m${index}`, uid: `uid-${index}`, at: ago(60), retry: 0 });

const owner = { apiVersion: 'x', kind: 'x', name: 'demo', uid: controlPlaneUid, controller: true };

function machineOf(master: Master, index: number): Machine {
  const { remediationFor, isMarked = false, isNode = true, hasAddressOf } = master;
  const record = { machine: 'm9', uid: 'uid-9', ...remediationFor };
  const annotations = {
    ...(master.isBootstrap && { [ownNames.role]: 'bootstrap' }),
    ...(master.isChosen && { [capiNames.remediate]: '' }),
    ...(master.annotation !== undefined && { [master.annotation]: 'false' }),
    ...(remediationFor && { [ownNames.remediationFor]: JSON.stringify(record) }),
  };
  return {
    metadata: {
      name: `m${index}`,
      namespace: 'shop',
      uid: `uid-${index}`,
      ...(master.isDeleting && { deletionTimestamp: at }),
      ...(master.age !== undefined && { creationTimestamp: ago(master.age) }),
      ownerReferences: [owner],
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      clusterName: 'demo',
      bootstrap: {},
      infrastructureRef: { apiGroup: 'x', kind: 'x', name: 'x' },
    },
    status: {
      conditions: [...(isMarked ? marks : []), ...(master.conditions ?? [])],
      ...(isNode && { nodeRef: { name: `m${index}` } }),
      ...(hasAddressOf !== undefined && {
        addresses: [{ type: 'InternalIP', address: addressOf(hasAddressOf) }],
      }),
    },
  };
}

function seenOf(world: World) {
  const { masters, isComplete = true, remediates, strangers = 0, knowsEtcd = true } = world;
  const { isPaused = false, isDeleting = false, hasAssets = true } = world;
  const controlPlane = controlPlaneOf(world.spec);
  const machines = masters.map(machineOf);
  const nodes = masters.flatMap(({ isReady = true, isNode = true }, index) => ({
    metadata: { name: isNode ? `m${index}` : `other${index}` },
    status: {
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      addresses: [{ type: 'InternalIP', address: addressOf(index) }],
    },
  }));
  const members = masters.flatMap(({ isMember = true }, index) =>
    isMember ? [addressOf(index)] : [],
  );
  const gone = Array.from({ length: strangers }, (_, index) => addressOf(index + 100));
  const etcd = {
    members: [...members, ...gone],
    readyOn: new Set(
      masters.flatMap(({ isMember = true, isPodReady = isMember }, index) =>
        isPodReady ? [`m${index}`] : [],
      ),
    ),
  };
  const annotations = {
    ...(remediates !== undefined && { [ownNames.remediation]: recordOf(remediates) }),
    ...(world.record !== undefined && { [ownNames.remediation]: world.record }),
    ...(isComplete && { [ownNames.bootstrapComplete]: '' }),
  };
  const metadata = {
    ...controlPlane.metadata,
    annotations,
    finalizers: [ownNames.finalizer],
    ...(isDeleting && { deletionTimestamp: at }),
  };
  const configs = machines.map(({ metadata: { name } }, index): BootstrapConfig => {
    const stage = masters[index]?.stage;
    return {
      metadata: { name },
      spec: { agent: { image: 'x' } },
      ...(stage && {
        status: { progress: { stage, stageStartedAt: at, updatedAt: at, attempt: 1 } },
      }),
    };
  });
  return {
    view: viewOf(
      {
        controlPlane: { ...controlPlane, metadata },
        cluster: {
          metadata: { name: 'demo' },
          spec: { controlPlaneEndpoint: { host: 'api', port: 6443 }, paused: isPaused },
          status: { initialization: { infrastructureProvisioned: true } },
        },
        machines,
        configs,
        assets: hasAssets
          ? {
              metadata: {
                name: 'assets',
                annotations: { [ownNames.inputsHash]: '1', [ownNames.generatedAt]: at },
                ownerReferences: [owner],
              } as Machine['metadata'],
            }
          : undefined,
        kubeconfig: { metadata: { name: 'kubeconfig' } },
      },
      now,
    ),
    guest: { nodes, ...(knowsEtcd ? { etcd } : {}) },
  };
}

const remediationsIn = (world: World): Remediations => {
  const { view, guest } = seenOf(world);
  return remediations(view, guest);
};

function decided(world: World): readonly string[] {
  const { reports, record, remove } = remediationsIn(world);
  const words = reports.map(
    ({ machine, check }) => `${machine.metadata.name} ${check?.reason ?? 'healthy'}`,
  );
  if (remove !== undefined) words.push(`delete ${remove.metadata.name}`);
  if (record === null) words.push('end');
  if (typeof record !== 'string') return words;
  const { machine, retry } = JSON.parse(record) as { machine: string; retry: number };
  return [...words, `begin ${machine} ${retry}`];
}

const good: Master = {};
const bad: Master = { isMarked: true, isReady: false };
/** A marked master that replaced another one some seconds ago. */
const retried = (
  time: number,
  retry: number,
  remediation?: ControlPlaneSpec['remediation'],
): World => ({
  masters: [{ ...bad, remediationFor: { at: ago(time), retry } }, good, good],
  ...(remediation && { spec: { remediation } }),
});
const deferred = 'm0 RemediationDeferred';
const refused = 'm0 CannotBeRemediated';

describe('a master that a MachineHealthCheck has marked', () => {
  it.each([
    ['is replaced when the others are healthy', { masters: [bad, good, good] }, ['begin m0 0']],
    ['is not replaced without the mark', { masters: [{ isReady: false }, good, good] }, []],
    [
      'is not replaced before the bootstrap is complete',
      { masters: [bad, good, good], isComplete: false },
      [refused],
    ],
    [
      'is not replaced as a bootstrap host that has not joined',
      { masters: [{ ...bad, isBootstrap: true, isNode: false }, good, good] },
      [refused],
    ],
    [
      'is replaced as the former bootstrap host',
      { masters: [{ ...bad, isBootstrap: true }, good, good] },
      ['begin m0 0'],
    ],
    ...(['Joined', 'Done'] as const).map((stage): [string, World, readonly string[]] => [
      `is replaced as a bootstrap host without a node that reported ${stage}`,
      { masters: [{ ...bad, isBootstrap: true, isNode: false, stage }, good, good] },
      ['begin m0 0'],
    ]),
    ['is not replaced as the only master', { masters: [bad], spec: { replicas: 1 } }, [refused]],
    [
      'is not replaced while the Cluster is paused',
      { masters: [bad, good, good], isPaused: true },
      [],
    ],
    [
      'is not replaced while its Machine is paused, whatever the value',
      { masters: [{ ...bad, annotation: 'cluster.x-k8s.io/paused' }, good, good] },
      [deferred],
    ],
    [
      'is kept when a person skips its remediation after the decision',
      {
        masters: [{ ...bad, annotation: 'cluster.x-k8s.io/skip-remediation' }, good, good],
        remediates: 0,
      },
      [deferred, 'end'],
    ],
    [
      'is not replaced while the control plane is being deleted',
      { masters: [bad, good, good], isDeleting: true },
      [],
    ],
    [
      'is not replaced without the files of the installer',
      { masters: [bad, good, good], hasAssets: false },
      [],
    ],
    [
      'is not replaced by a failed health check alone',
      { masters: [{ conditions: [condition('HealthCheckSucceeded', 'False')] }, good, good] },
      [],
    ],
    [
      'is not reported as healthy without a request for its replacement',
      { masters: [{ conditions: [condition('HealthCheckSucceeded', 'True')] }, good, good] },
      [],
    ],
    [
      'is not replaced while another Machine is being deleted',
      { masters: [bad, good, { ...good, isDeleting: true }] },
      [deferred],
    ],
    ['is not replaced while a Machine is missing', { masters: [bad, good] }, [deferred]],
    [
      'is not replaced while another node is not Ready',
      { masters: [bad, good, { isReady: false }] },
      [refused],
    ],
    [
      'is not replaced while another master has no healthy etcd member',
      { masters: [bad, good, { isMember: false }] },
      [refused],
    ],
    [
      'is not replaced while another master is not an etcd member, even if its etcd pod is ready',
      { masters: [bad, good, { isMember: false, isPodReady: true }] },
      [refused],
    ],
    [
      'is not replaced while another Machine without a node reports the address of one',
      { masters: [bad, good, { isNode: false, hasAddressOf: 1 }] },
      [refused],
    ],
    [
      'is not replaced when stale members would cost etcd its quorum',
      { masters: [bad, good, good], strangers: 2 },
      [refused],
    ],
    [
      'is not replaced when stale members would cost the quorum, and it reports the address of another',
      { masters: [{ ...bad, hasAddressOf: 1 }, good, good], strangers: 2 },
      [refused],
    ],
    [
      'is replaced when etcd keeps its quorum with one stale member',
      { masters: [{ ...bad, isMember: false }, good, good], strangers: 1 },
      ['begin m0 0'],
    ],
    [
      'is not replaced while the etcd members are unknown',
      { masters: [bad, good, good], knowsEtcd: false },
      [deferred],
    ],
    ['is replaced again with the retry count increased', retried(3600, 2), ['begin m0 3']],
    ['is not replaced after three failed retries', retried(3600, 3), [refused]],
    ['is not replaced more often than maxRetry', retried(3600, 0, { maxRetry: 0 }), [refused]],
    ['is replaced with the retry count reset after a day', retried(86_401, 3), ['begin m0 0']],
    [
      'is not replaced before the retry period is over',
      retried(599, 0, { retryPeriodSeconds: 600 }),
      [deferred],
    ],
    [
      'is replaced at the end of the retry period',
      retried(600, 0, { retryPeriodSeconds: 600 }),
      ['begin m0 1'],
    ],
    [
      'is replaced when the last remediation lies in the future',
      retried(-86_400, 0, { retryPeriodSeconds: 600 }),
      ['begin m0 1'],
    ],
    [
      'waits while another master is replaced',
      { masters: [{ isMarked: true }, { ...bad, isNode: true }, good] },
      [refused, 'begin m1 0'],
    ],
    [
      'is deleted once the remediation is recorded',
      { masters: [bad, good, good], remediates: 0 },
      ['delete m0'],
    ],
    [
      'is kept when its deletion is no longer allowed',
      { masters: [bad, good, { isReady: false }], remediates: 0 },
      [refused, 'end'],
    ],
    ['is kept when it is healthy again', { masters: [good, good, good], remediates: 0 }, ['end']],
    [
      'is reported while its Machine is being deleted',
      { masters: [{ ...bad, isDeleting: true }, good, good], remediates: 0 },
      ['m0 MachineDeleting'],
    ],
    [
      'ends its remediation once the replacement exists',
      {
        masters: [{ remediationFor: { at: ago(60), retry: 0 } }, good, good],
        remediates: 9,
      },
      ['end'],
    ],
    [
      'is reported as healthy once its health check succeeds',
      {
        masters: [
          {
            conditions: [
              condition('HealthCheckSucceeded', 'True'),
              condition('OwnerRemediated', 'False'),
            ],
          },
          ...[good, good],
        ],
      },
      ['m0 healthy'],
    ],
  ])('%s', (_, world, expected) => {
    expect(decided(world)).toEqual(expected);
  });

  it.each([
    ['that a person has chosen', { age: 9 }, { isChosen: true, isNode: true, age: 1 }],
    ['without a node', { age: 9 }, { isNode: false, age: 1 }],
    ['that is older', { age: 1 }, { age: 9 }],
    ['that a person has chosen, before one without a node', { isNode: false }, { isChosen: true }],
  ])('gives way to one %s', (_, other, first) => {
    const mark = { isMarked: true, isMember: true };
    for (const order of [0, 1]) {
      const pair = [
        { ...mark, ...other },
        { ...mark, ...first },
      ];
      const masters = order === 0 ? pair : pair.toReversed();
      const { reports } = remediationsIn({ masters: [...masters, good], knowsEtcd: false });
      const names = reports.map(({ machine }) => machine.metadata.name);
      expect(names).toEqual(order === 0 ? ['m1', 'm0'] : ['m0', 'm1']);
    }
  });

  it.each(['', 'no JSON', '{}', '{"uid":7}'])('ends a record that is %j', (record) => {
    expect(decided({ masters: [good, good, good], record })).toEqual(['end']);
    expect(toBeFollowed(seenOf({ masters: [good, good], record }).view)).toBeUndefined();
  });

  it('is not replaced when there is no other', () => {
    const [report] = remediationsIn({ masters: [bad], spec: { replicas: 1 } }).reports;
    expect(report?.check?.message).toBe('there is no other master');
  });

  it('says how often it was replaced', () => {
    expect(remediationsIn(retried(3600, 3)).reports[0]?.check?.message).toMatch(
      /^replaced 4 times within/,
    );
  });

  it('keeps its record until the replacement exists', () => {
    expect(decided({ masters: [good, good], remediates: 9 })).toEqual([]);
  });

  it('passes its record to the replacement', () => {
    const { view } = seenOf({ masters: [good, good], remediates: 9 });
    expect(toBeFollowed(view)).toBe(recordOf(9));
  });

  it('does not repeat a reason that is already in its conditions', () => {
    const world: World = { masters: [bad, good, { isReady: false }] };
    const [report] = remediationsIn(world).reports;
    const said = { ...marks[1], ...report?.check } as ApiCondition;
    const after = (last: ApiCondition) => {
      const conditions = [condition('HealthCheckSucceeded', 'False'), last];
      return decided({ masters: [{ isReady: false, conditions }, good, { isReady: false }] });
    };
    expect(after(said)).toEqual([]);
    expect(after({ ...said, message: 'an earlier one' })).toEqual([refused]);
  });
});
