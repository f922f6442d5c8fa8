import { describe, expect, it } from 'vitest';
import {
  decideCompletion,
  decideIngressCa,
  decideStage,
  isComplete,
  overdue,
} from './finalizing.ts';
import {
  type ClusterRecord,
  clusterSeed,
  type HostRecord,
  hostSeed,
  operatorSeed,
} from './records.ts';

const finalizing = clusterSeed({ status: 'finalizing' });
const pem = '-----BEGIN CERTIFICATE-----\nTEFC\n-----END CERTIFICATE-----\n';
const minutes = (count: number): number => count * 60_000;

describe('a stage of finalizing', () => {
  it.each([
    ['installing', 'changed'],
    ['finalizing', 'changed'],
    ['installing-pending-user-action', 'changed'],
    ['installed', 'refused'],
    ['error', 'refused'],
    ['cancelled', 'refused'],
  ] as const)('of a cluster in status %s is %s', (status, kind) => {
    const decision = decideStage({ ...finalizing, status }, 'Done', 7);
    expect(decision).toMatchObject(kind === 'changed' ? { kind } : { kind, status: 400 });
  });

  it('may be lower than before, and keeps its start time when it is repeated', () => {
    const later: ClusterRecord = {
      ...finalizing,
      finalizing: { stage: 'Adding router ca', isTimedOut: false, startedAt: 5 },
    };
    expect(decideStage(later, 'Waiting for cluster operators', 9)).toMatchObject({
      cluster: { finalizing: { stage: 'Waiting for cluster operators', startedAt: 9 } },
    });
    expect(decideStage(later, 'Adding router ca', 9)).toMatchObject({ cluster: later });
  });

  it.each([
    ['Waiting for cluster operators', 600, { status: 'error' }],
    ['Adding router ca', 70, { status: 'error' }],
    ['Applying olm manifests', 10, { status: 'finalizing', finalizing: { isTimedOut: true } }],
    ['Waiting for olm operators csv', 120, { finalizing: { isTimedOut: true } }],
    ['Done', 70, { status: 'error' }],
  ])('%s lasts %i minutes at most', (stage, limit, end) => {
    const operators = [operatorSeed({ name: 'lso', timeoutSeconds: 7200 })];
    const cluster = {
      ...finalizing,
      operators,
      finalizing: { stage, isTimedOut: false, startedAt: 0 },
    };
    expect(overdue(cluster, minutes(limit))).toBeUndefined();
    const late = overdue(cluster, minutes(limit) + 1);
    expect(late).toMatchObject(end);
    expect(late === undefined || overdue(late, minutes(2 * limit))).toBeUndefined();
  });
});

describe('the certificates of the ingress', () => {
  it.each([
    ['installing', pem, { status: 400 }],
    ['finalizing', 'TEFC', { status: 500 }],
    ['finalizing', pem, { cluster: { hasIngressCa: true } }],
    ['installed', pem, { cluster: { hasIngressCa: true } }],
  ] as const)('in status %s: case %#', (status, text, end) => {
    expect(decideIngressCa({ ...finalizing, status }, text)).toMatchObject(end);
  });
});

describe('decideCompletion', () => {
  it.each([
    ['finalizing', true, { cluster: { status: 'finalizing' } }],
    ['installed', true, { cluster: { status: 'installed' } }],
    ['finalizing', false, { cluster: { status: 'error', statusInfo: 'no console' } }],
    ['installed', false, { kind: 'refused', status: 500 }],
  ] as const)('in status %s, success %s', (status, isSuccess, end) => {
    const said = { isSuccess, error: 'no console' };
    expect(decideCompletion({ ...finalizing, status }, said)).toMatchObject(end);
  });
});

describe('a cluster', () => {
  const host = hostSeed({ clusterId: 'c', infraEnvId: 'i', hostname: 'm', role: 'master' });
  const whole: ClusterRecord = {
    ...finalizing,
    hasIngressCa: true,
    operators: [
      ...finalizing.operators.map((one) => ({ ...one, status: 'available' as const })),
      operatorSeed({ name: 'lso', status: 'failed' }),
    ],
  };
  const done = [{ ...host, status: 'installed' as const }];

  it.each<readonly [string, ClusterRecord, readonly HostRecord[], boolean]>([
    ['is complete even if an OLM operator has failed', whole, done, true],
    ['is not complete without the ingress CA', { ...whole, hasIngressCa: false }, done, false],
    [
      'is not complete without its builtin operators',
      { ...whole, operators: finalizing.operators },
      done,
      false,
    ],
    ['is not complete while a host is installing', whole, [...done, host], false],
  ])('%s', (...[, cluster, hosts, expected]) => {
    expect(isComplete(cluster, hosts)).toBe(expected);
  });
});
