import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { chooseNode, isOurs } from './scheduler.ts';

const node = (name: string, role: string, { ready = 'True', unschedulable = false } = {}) => ({
  metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
  spec: { unschedulable },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const pod = (spec: object = {}): KubeObject => ({
  metadata: { name: 'p', labels: { app: 'a' } },
  spec: { containers: [{ image: 'x' }], ...spec },
});
const tolerations = [{ key: 'node-role.kubernetes.io/master', operator: 'Exists' }];
const matchFields = [{ values: ['w9'] }];
const required = { nodeSelectorTerms: [{ matchFields }] };
const daemon = {
  tolerations: [{ operator: 'Exists' }],
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
};
const tainted = { dedicated: 'yes' };
const toleration = { key: 'a', operator: 'Equal', value: 'b' };
const master = { 'node-role.kubernetes.io/master': '' };

describe('the node of a pod', () => {
  const nodes = [
    node('m1', 'master'),
    node('w0', 'worker', { ready: 'False' }),
    node('w1', 'worker', { unschedulable: true }),
    node('w2', 'worker'),
    node('w3', 'worker'),
    {
      ...node('w4', 'worker'),
      metadata: { name: 'w4', labels: tainted },
      spec: { taints: [{ key: 'a', value: 'b', effect: 'NoExecute' }] },
    },
    node('w9', 'worker', { ready: 'False', unschedulable: true }),
  ];
  it.each<[string, KubeObject, readonly string[], string | undefined]>([
    ['is a worker', pod({ tolerations }), [], 'w2'],
    ['is one without others of its app', pod(), ['w2'], 'w3'],
    ['is a master where it is told', pod({ tolerations, nodeSelector: master }), [], 'm1'],
    ['is no master that it does not tolerate', pod({ nodeSelector: master }), [], undefined],
    ['is that of a daemon set where it tolerates all', pod(daemon), [], 'w9'],
    [
      'is none of its daemon set that it does not tolerate',
      pod({ ...daemon, tolerations }),
      [],
      undefined,
    ],
    ['is none with a taint of its own', pod({ nodeSelector: tainted }), [], undefined],
    [
      'is one whose taint it tolerates',
      pod({ nodeSelector: tainted, tolerations: [toleration] }),
      [],
      'w4',
    ],
    [
      'tolerates no other value',
      pod({ nodeSelector: tainted, tolerations: [{ ...toleration, value: 'c' }] }),
      [],
      undefined,
    ],
    ['is any beside others else', pod(), ['w2', 'w3'], 'w2'],
  ])('%s', (...[, one, taken, expected]) => {
    const pods = taken.map((nodeName) => pod({ nodeName }));
    expect(chooseNode(one, { pods, nodes })).toBe(expected);
  });
});

describe('a pod', () => {
  it('runs our program by its image', () => {
    const own = pod({ containers: [{ image: 'bootwright' }] });
    expect([isOurs(own), isOurs(pod())]).toEqual([true, false]);
  });
});
