import type { RunEvent, RunEventBody } from '../../src/engine/events.ts';
import { checkConfig } from '../../src/config/load.ts';
import { readFlags } from '../../src/config/flags.ts';
import { describeRole } from '../../src/engine/describe.ts';
import { ladders } from '../../src/model/stage.ts';
import { railOfPlan } from '../../mocks/lab/page.ts';
import { railOfStages, railSteps } from '../../src/page/rail.ts';
import type { PageUpdate, Rail } from '../../src/page/state.ts';
import { chooseRole } from '../../src/roles/choose.ts';

/** A host name that attempts an injection. */
export const evilName = '<script>alert("host")</script><img src=x onerror=alert(1)>';

/** The rail of a role, for the shortest line of an install. */
function railOf(role: string): Rail {
  const line = `--role ${role} --url https://service:6008 --cluster-id C --host-id H --boot-device /dev/sda --control-plane-count 3`;
  const { config } = checkConfig([readFlags(line.split(' ')).layer]);
  return railOfPlan(describeRole(chooseRole(config), config), ['Configuring', 'Joined', 'Done']);
}

const event = (host: string, at: number, body: RunEventBody): PageUpdate => ({
  kind: 'event',
  host,
  at,
  event: { at, run: host, ...body } as RunEvent,
});

/** The first steps of a host up to a given one, with their duration, and the start of that step. */
function stepsUpTo(host: string, rail: Rail, { last, begin }: { last: string; begin: number }) {
  const steps = railSteps(rail).filter(({ isActive }) => isActive);
  const count = steps.findIndex(({ id }) => id === last);
  return steps.slice(0, count + 1).flatMap(({ id, title }, index): readonly PageUpdate[] => {
    const at = begin + index * 4000;
    return [
      event(host, at, { type: 'step.started', step: id, title, attempt: 1 }),
      ...(index === count
        ? []
        : [event(host, at + 3900, { type: 'step.finished', step: id, duration: 3900 })]),
    ];
  });
}

/**
 * Updates of an installation that is half done and began at a given time. Every part of the page
 * has content.
 */
export function sampleUpdates(begin: number): readonly PageUpdate[] {
  const rails = {
    bootstrap: railOf('bootstrap'),
    master: railOf('master'),
    worker: railOf('worker'),
  };
  const host = (id: string, role: keyof typeof rails, name = id): PageUpdate => ({
    kind: 'host',
    at: begin,
    id,
    name,
    role,
    rail: rails[role],
  });
  const object = (
    kind: string,
    name: string,
    [state, tone]: readonly [string, 'good' | 'bad' | 'waiting' | 'busy'],
  ): PageUpdate => ({
    kind: 'object',
    at: begin + 70_000,
    object: { kind, name, state, tone },
  });
  const stage = (id: string, name: string, info = ''): PageUpdate => ({
    kind: 'stage',
    at: begin + 60_000,
    host: id,
    stage: name,
    info,
    status: 'installing-in-progress',
  });
  const write = { type: 'step.progress', step: 'image/write' } as const;
  return [
    { kind: 'begin', at: begin, startedAt: begin },
    ...[
      host('b1', 'bootstrap'),
      host('m1', 'master'),
      host('w1', 'worker'),
      host('w2', 'worker', evilName),
    ],
    {
      kind: 'host',
      at: begin,
      id: 's1',
      name: 'a-host-with-a-name-that-is-as-long-as-names-may-be.example.test',
      role: 'worker',
      rail: railOfStages(ladders.worker),
    },
    ...stepsUpTo('b1', rails.bootstrap, { last: 'image/write', begin }),
    event('b1', begin + 60_000, {
      ...write,
      progress: { info: '63%', percent: 63, bytesPerSecond: 121e6, remaining: 9000 },
    }),
    event('b1', begin + 40_000, {
      type: 'step.started',
      step: 'cluster/wait-for-masters',
      lane: 'cluster',
      title: 'Wait for the masters to join',
      attempt: 1,
    }),
    event('b1', begin + 60_000, {
      type: 'wait.updated',
      step: 'cluster/wait-for-masters',
      sentence: 'two masters are Ready',
      status:
        '1 of 2 masters is Ready: m1 NotReady, container runtime network not ready: no CNI configuration file',
      waited: 20_000,
      limit: 3_600_000,
    }),
    ...stepsUpTo('m1', rails.master, { last: 'finish/leave-host', begin: begin + 3000 }),
    { kind: 'phase', host: 'm1', at: begin + 70_000, phase: 'applies its Ignition' },
    ...stepsUpTo('w1', rails.worker, { last: 'disk/clean', begin: begin + 2000 }),
    event('w1', begin + 30_000, {
      type: 'step.failed',
      step: 'disk/clean',
      failure: {
        code: 'disk.busy',
        kind: 'host',
        message: 'the disk is busy',
        hint: 'unmount it',
        context: {},
      },
    }),
    {
      kind: 'host-end',
      at: begin + 31_000,
      host: 'w1',
      isGood: false,
      text: 'failed',
      failure: {
        code: 'disk.busy',
        message: 'the disk is busy',
        hint: 'unmount it',
        logs: '/opt/install-dir/bundle.tar.gz',
      },
    },
    ...[
      stage('b1', 'Writing image to disk', '63%'),
      stage('m1', 'Rebooting'),
      stage('w2', 'Installing', evilName),
    ],
    stage('s1', 'Waiting for control plane', 'Waiting for two masters'),
    { kind: 'cluster', at: begin + 60_000, status: 'installing', info: 'Installation in progress' },
    ...[
      object('Node', 'm1', ['NotReady: no CNI configuration file', 'waiting']),
      object('Node', 'm2', ['Ready', 'good']),
    ],
    object('ClusterOperator', 'authentication', [
      'Degraded: Get "https://oauth-openshift.apps.lab.example.test/healthz": EOF',
      'bad',
    ]),
    ...[
      object('CertificateSigningRequest', evilName, ['Pending', 'waiting']),
      object('MachineOSBuild', 'worker-0123456789abcdef', ['Building', 'busy']),
    ],
    { kind: 'fault', at: begin + 20_000, where: 'w1', what: 'power-loss after image/write' },
    { kind: 'line', at: begin + 61_000, source: evilName, level: 'warn', text: evilName },
  ];
}
