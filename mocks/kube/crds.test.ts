import { describe, expect, it } from 'vitest';
import { chooseNames } from './crds.ts';

const present = [
  'authentications.config.openshift.io',
  'authentications.operator.openshift.io',
  'etcds.operator.openshift.io',
];

describe('which definitions are applied', () => {
  it.each([
    ['all', 'all' as const, present],
    ['none', [], []],
    ['one by its whole name', ['etcds.operator.openshift.io'], [present[2]]],
    ['all of a plural', ['authentications'], present.slice(0, 2)],
    ['none twice', ['etcds', 'etcds.operator.openshift.io'], [present[2]]],
  ])('are %s', (_, wanted, chosen) => {
    expect(chooseNames(present, wanted)).toEqual(chosen);
  });

  it('is a mistake when a name means none', () => {
    expect(() => chooseNames(present, ['etcds', 'etcd'])).toThrow('no definition is called etcd');
  });
});
