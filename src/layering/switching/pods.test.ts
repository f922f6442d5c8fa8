import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { type PodAct, podActs, switchPod, switchPodsOn } from './pods.ts';

const image = `registry.rig.test/ocl/master@sha256:${'d'.repeat(64)}`;
const order = { node: 'm1', bootId: 'b1', image, program: 'quay.io/b:v1', namespace: 'ours' };
const made = (act: PodAct, status: object = {}, metadata: object = {}): KubeObject => {
  const object = switchPod({ ...order, act });
  return { ...object, metadata: { ...object.metadata, ...metadata }, status };
};
const container = (state: object, restartCount = 0) => ({
  containerStatuses: [{ restartCount, ...state }],
});

describe('a pod that switches a node', () => {
  it.each<[PodAct, readonly string[]]>([
    ['stage', ['node', 'apply', image]],
    ['record', ['node', 'apply', image, '--record']],
    ['restart', ['node', 'apply', image, '--reboot', '--in-boot', 'b1']],
    ['check', ['node', 'status', '--runs', image]],
  ])('runs for %s', (act, args) => {
    expect(switchPod({ ...order, act })).toMatchObject({
      spec: { nodeName: 'm1', hostPID: true, containers: [{ image: 'quay.io/b:v1', args }] },
    });
  });

  it('has a name of its own for each act, node and image', () => {
    const names = [
      ...podActs.map((act) => switchPod({ ...order, act })),
      switchPod({ ...order, act: 'stage', node: 'm2' }),
      switchPod({ ...order, act: 'stage', image: `${image}0` }),
    ].map(({ metadata }) => metadata.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names[0]).toMatch(/^bootwright-switch-stage-[0-9a-f]{10}$/);
    expect(switchPod({ ...order, act: 'stage', bootId: 'b2' }).metadata.name).toBe(names[0]);
  });
});

describe('the pods of a node', () => {
  it.each<[string, object, string, boolean]>([
    ['is not started', {}, 'is about to start', false],
    ['runs', { phase: 'Running' }, 'runs', false],
    ['is through', { phase: 'Succeeded' }, 'is through', true],
    ['was ended for good', { phase: 'Failed' }, 'has failed', false],
    [
      'cannot be started',
      { phase: 'Pending', ...container({ state: { waiting: { reason: 'ImagePullBackOff' } } }) },
      'does not start: ImagePullBackOff',
      false,
    ],
    [
      'failed, and is started again',
      {
        phase: 'Running',
        ...container(
          { lastState: { terminated: { exitCode: 4, message: 'x\nfailed: os.no-space: full\n' } } },
          3,
        ),
      },
      'ended with 4, 3 times: failed: os.no-space: full',
      false,
    ],
  ])('that %s', (...[, status, words, isDone]) => {
    const { stage } = switchPodsOn('m1', [made('stage', status)]).pods;
    expect(stage).toMatchObject({ act: 'stage', bootId: 'b1', isDone, status: words });
  });

  it('are those on it that stay', () => {
    const found = switchPodsOn('m1', [
      made('stage'),
      made('record', {}, { deletionTimestamp: '2026-11-22T00:00:00Z' }),
      switchPod({ ...order, node: 'm2', act: 'restart' }),
    ]);
    expect(Object.keys(found.pods)).toEqual(['stage']);
    expect(found.leaving).toEqual(['record']);
  });
});
