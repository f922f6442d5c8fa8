import { describe, expect, it } from 'vitest';
import { controlPlaneOf, controlPlaneUid } from '../../../test/support/capi-world.ts';
import { seconds } from '../../model/duration.ts';
import {
  type ApiCondition,
  type BootstrapConfig,
  type ControlPlaneSpec,
  type Machine,
  ownNames,
} from '../api.ts';
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
  readonly conditions?: readonly ApiCondition[];
  readonly remediationFor?: { readonly at: string; readonly retry: number };
}

interface World {
  readonly masters: readonly Master[];
  readonly spec?: Partial<ControlPlaneSpec>;
  readonly isComplete?: boolean;
  /** The annotation of the control plane names the master with this index, or one that is gone. */
  readonly remediates?: number;
  /** Members of etcd whose host is gone. */
  readonly strangers?: number;
  readonly knowsEtcd?: boolean;
}

const addressOf = (index: number): string => `192.0.2.${index + 1}`;
const recordOf = (index: number): string =>
  JSON.stringify({ machine: `m${index}`, uid: `uid-${index}`, at: ago(60), retry: 0 });

const owner = { apiVersion: 'x', kind: 'x', name: 'demo', uid: controlPlaneUid, controller: true };

function machineOf(master: Master, index: number): Machine {
  const { remediationFor, isMarked = false, isNode = true, hasAddressOf } = master;
  const record = { machine: 'm9', uid: 'uid-9', ...remediationFor };
  return {
    metadata: {
      name: `m${index}`,
      namespace: 'shop',
      uid: `uid-${index}`,
      ...(master.isDeleting === true ? { deletionTimestamp: at } : {}),
      ownerReferences: [owner],
      annotations: {
        ...(master.isBootstrap === true ? { [ownNames.role]: 'bootstrap' } : {}),
        ...(remediationFor && { [ownNames.remediationFor]: JSON.stringify(record) }),
      },
    },
    spec: {
      clusterName: 'demo',
      bootstrap: {},
      infrastructureRef: { apiGroup: 'x', kind: 'x', name: 'x' },
    },
    status: {
      conditions: [...(isMarked ? marks : []), ...(master.conditions ?? [])],
      ...(isNode ? { nodeRef: { name: `m${index}` } } : {}),
      ...(hasAddressOf === undefined
        ? {}
        : { addresses: [{ type: 'InternalIP', address: addressOf(hasAddressOf) }] }),
    },
  };
}

function seenOf(world: World) {
  const { masters, isComplete = true, remediates, strangers = 0, knowsEtcd = true } = world;
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
    ...(remediates === undefined ? {} : { [ownNames.remediation]: recordOf(remediates) }),
    ...(isComplete && { [ownNames.bootstrapComplete]: '' }),
  };
  const metadata = { ...controlPlane.metadata, annotations, finalizers: [ownNames.finalizer] };
  const configs = machines.map(({ metadata: { name } }): BootstrapConfig => ({
    metadata: { name },
    spec: { agent: { image: 'x' } },
  }));
  return {
    view: viewOf(
      {
        controlPlane: { ...controlPlane, metadata },
        cluster: {
          metadata: { name: 'demo' },
          spec: { controlPlaneEndpoint: { host: 'api', port: 6443 } },
          status: { initialization: { infrastructureProvisioned: true } },
        },
        machines,
        configs,
        assets: {
          metadata: {
            name: 'assets',
            annotations: { [ownNames.inputsHash]: '1', [ownNames.generatedAt]: at },
            ownerReferences: [owner],
          } as Machine['metadata'],
        },
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
const deferred = 'm0 RemediationDeferred';
const refused = 'm0 CannotBeRemediated';

describe('a master that a MachineHealthCheck has marked', () => {
  it.each<[string, World, readonly string[]]>([
    ['is replaced where the others are healthy', { masters: [bad, good, good] }, ['begin m0 0']],
    ['is not while none is marked', { masters: [{ isReady: false }, good, good] }, []],
    [
      'is not before the bootstrap is complete',
      { masters: [bad, good, good], isComplete: false },
      [refused],
    ],
    [
      'is not as the bootstrap host that has not joined',
      { masters: [{ ...bad, isBootstrap: true, isNode: false }, good, good] },
      [refused],
    ],
    [
      'is replaced as the bootstrap host of before',
      { masters: [{ ...bad, isBootstrap: true }, good, good] },
      ['begin m0 0'],
    ],
    ['is not as the only one', { masters: [bad], spec: { replicas: 1 } }, [refused]],
    [
      'is not while another Machine is being deleted',
      { masters: [bad, good, { ...good, isDeleting: true }] },
      [deferred],
    ],
    ['is not while another Machine is to be made', { masters: [bad, good] }, [deferred]],
    ['is not while another is not Ready', { masters: [bad, good, { isReady: false }] }, [refused]],
    [
      'is not while another has no healthy member of etcd',
      { masters: [bad, good, { isMember: false }] },
      [refused],
    ],
    [
      'is not while another is no member, though its pod of etcd is ready',
      { masters: [bad, good, { isMember: false, isPodReady: true }] },
      [refused],
    ],
    [
      'is not while another is no node, and has the address of one by an old report',
      { masters: [bad, good, { isNode: false, hasAddressOf: 1 }] },
      [refused],
    ],
    [
      'is not where etcd would lose its quorum by members that are gone',
      { masters: [bad, good, good], strangers: 2 },
      [refused],
    ],
    [
      'is where one member that is gone leaves a quorum',
      { masters: [{ ...bad, isMember: false }, good, good], strangers: 1 },
      ['begin m0 0'],
    ],
    [
      'is not where the members of etcd are not known',
      { masters: [bad, good, good], knowsEtcd: false },
      [deferred],
    ],
    [
      'is replaced again, which is counted',
      { masters: [{ ...bad, remediationFor: { at: ago(3600), retry: 2 } }, good, good] },
      ['begin m0 3'],
    ],
    [
      'is not any more after three that failed',
      { masters: [{ ...bad, remediationFor: { at: ago(3600), retry: 3 } }, good, good] },
      [refused],
    ],
    [
      'is not more often than the control plane says',
      {
        masters: [{ ...bad, remediationFor: { at: ago(3600), retry: 0 } }, good, good],
        spec: { remediation: { maxRetry: 0 } },
      },
      [refused],
    ],
    [
      'is counted from the beginning a day later',
      { masters: [{ ...bad, remediationFor: { at: ago(86_401), retry: 3 } }, good, good] },
      ['begin m0 0'],
    ],
    [
      'is not before the retry period is over',
      {
        masters: [{ ...bad, remediationFor: { at: ago(599), retry: 0 } }, good, good],
        spec: { remediation: { retryPeriodSeconds: 600 } },
      },
      [deferred],
    ],
    [
      'is replaced right at the end of that',
      {
        masters: [{ ...bad, remediationFor: { at: ago(600), retry: 0 } }, good, good],
        spec: { remediation: { retryPeriodSeconds: 600 } },
      },
      ['begin m0 1'],
    ],
    [
      'is replaced where the one before was by a clock that was ahead',
      {
        masters: [{ ...bad, remediationFor: { at: ago(-86_400), retry: 0 } }, good, good],
        spec: { remediation: { retryPeriodSeconds: 600 } },
      },
      ['begin m0 1'],
    ],
    [
      'waits while another is replaced',
      { masters: [{ isMarked: true }, { ...bad, isNode: true }, good] },
      [refused, 'begin m1 0'],
    ],
    [
      'is deleted once that is written down',
      { masters: [bad, good, good], remediates: 0 },
      ['delete m0'],
    ],
    [
      'stays where it may not be deleted any more',
      { masters: [bad, good, { isReady: false }], remediates: 0 },
      [refused, 'end'],
    ],
    ['stays where it is healthy again', { masters: [good, good, good], remediates: 0 }, ['end']],
    [
      'is waited for',
      { masters: [{ ...bad, isDeleting: true }, good, good], remediates: 0 },
      ['m0 MachineDeleting'],
    ],
    [
      'is done with once that is there',
      {
        masters: [{ remediationFor: { at: ago(60), retry: 0 } }, good, good],
        remediates: 9,
      },
      ['end'],
    ],
    [
      'is not marked any more once it is healthy',
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

  it('is followed by one that knows it', () => {
    const { view } = seenOf({ masters: [good, good], remediates: 9 });
    expect(toBeFollowed(view)).toBe(recordOf(9));
  });

  it('says each reason once', () => {
    const world: World = { masters: [bad, good, { isReady: false }] };
    const [report] = remediationsIn(world).reports;
    const said = { ...marks[1], ...report?.check } as ApiCondition;
    const conditions = [condition('HealthCheckSucceeded', 'False'), said];
    expect(
      decided({ masters: [{ isReady: false, conditions }, good, { isReady: false }] }),
    ).toEqual([]);
  });
});
