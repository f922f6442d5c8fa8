import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../ports/kube.ts';
import { configsAgree, namedConfigs } from './machine-configs.ts';

const node = (name: string, current?: string, desired?: string): KubeObject => ({
  metadata: {
    name,
    annotations: {
      ...(current === undefined
        ? {}
        : { 'machineconfiguration.openshift.io/currentConfig': current }),
      ...(desired === undefined
        ? {}
        : { 'machineconfiguration.openshift.io/desiredConfig': desired }),
    },
  },
});

const present = new Set(['a', 'b']);

describe('whether the masters agree on their MachineConfig', () => {
  it.each<[string, readonly KubeObject[], boolean, string]>([
    ['one master', [node('m1', 'a', 'a')], true, '1 masters agree on a'],
    ['two masters', [node('m1', 'a', 'a'), node('m2', 'a', 'a')], true, '2 masters agree on a'],
    [
      'a master that is on its way',
      [node('m1', 'a', 'b'), node('m2', 'b', 'b')],
      true,
      '2 masters agree on b',
    ],
    ['no master', [], false, 'there is no master node yet'],
    ['no annotation at all', [{ metadata: { name: 'm1' } }], false, 'm1 names no current'],
    ['no current one', [node('m1', undefined, 'a')], false, 'm1 names no current MachineConfig'],
    ['no desired one', [node('m1', 'a')], false, 'm1 names no desired MachineConfig'],
    ['an empty desired one', [node('m1', 'a', '')], false, 'm1 names no desired MachineConfig'],
    ['a current one that is not there', [node('m1', 'x', 'a')], false, 'not in the cluster: x'],
    ['a desired one that is not there', [node('m1', 'a', 'x')], false, 'not in the cluster: x'],
    [
      'different desired ones',
      [node('m1', 'a', 'a'), node('m2', 'a', 'b')],
      false,
      'the masters differ: m1 wants a, m2 wants b',
    ],
  ])('with %s', (...[, nodes, isAgreed, status]) => {
    const agreement = configsAgree(nodes, present);
    expect(agreement.isAgreed).toBe(isAgreed);
    expect(agreement.status).toContain(status);
  });

  it('asks for each name once', () => {
    const nodes = [node('m1', 'b', 'a'), node('m2', 'a', 'a'), node('m3', '', undefined)];
    expect(namedConfigs(nodes)).toEqual(['a', 'b']);
  });
});
