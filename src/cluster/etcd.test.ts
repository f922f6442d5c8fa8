import { describe, expect, it } from 'vitest';
import { fakeKube } from '../../test/support/fake-kube.ts';
import type { KubeObject } from '../ports/kube.ts';
import {
  etcdCluster,
  isOverridden,
  isRestored,
  needsOverride,
  overrideAnnotation,
  overridePatch,
  overridesOf,
  recordedBefore,
  restorePatch,
} from './etcd.ts';

const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';
const { signal } = new AbortController();

const etcdWith = (overrides: unknown, record?: string): KubeObject => ({
  metadata: {
    name: 'cluster',
    ...(record === undefined ? {} : { annotations: { [overrideAnnotation]: record } }),
  },
  spec: { managementState: 'Managed', unsupportedConfigOverrides: overrides },
});

describe('whether etcd needs the override', () => {
  it.each([
    ['4.4', true],
    ['4.4.0', true],
    ['4.6', true],
    ['4.6.62', true],
    ['4.6.0-0.nightly-2020-11-07-035509', true],
    ['4.6-rc.1', true],
    ['v4.5.1', true],
    ['4.7', false],
    ['4.7.0-fc.0', false],
    ['4.10', false],
    ['4.60.1', false],
    ['5.0', false],
    ['3.11', false],
    ['', false],
    ['latest', false],
    ['4', false],
    ['4.6x', false],
  ])('for version %j: %s', (version, expected) => {
    expect(needsOverride(version, 'auto')).toBe(expected);
  });

  it.each([
    ['always', '4.20.1', true],
    ['always', 'latest', true],
    ['never', '4.4.0', false],
  ] as const)('is overruled by %s', (mode, version, expected) => {
    expect(needsOverride(version, mode)).toBe(expected);
  });
});

describe('the override', () => {
  it('is the merge patch of the old agent, with a record of what was there', () => {
    expect(overridePatch(null)).toEqual({
      type: 'merge',
      body: {
        metadata: { annotations: { 'bootwright.io/etcd-override': 'null' } },
        spec: { unsupportedConfigOverrides: { [flag]: true } },
      },
    });
  });

  it('needs no restoring without a record', () => {
    expect(restorePatch(etcdWith({ [flag]: true }))).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['no fields', {}],
    ['other overrides', { useSomethingElse: 'yes', nested: { a: [1, 2] } }],
    ['the flag, set to false', { [flag]: false, other: 1 }],
    ['the flag, set already', { [flag]: true }],
  ])('is put back to what was there: %s', async (_, before) => {
    const kube = fakeKube().put(etcdCluster.kind, etcdWith(before));
    const overridden = await kube.patch(etcdCluster, overridePatch(before), signal);
    expect(isOverridden(overridden)).toBe(true);
    expect(recordedBefore(overridden)).toEqual({ before });
    expect(isRestored(overridden, before)).toBe(false);
    const patch = restorePatch(overridden);
    expect(patch).toBeDefined();
    const restored = await kube.patch(etcdCluster, patch!, signal);
    expect(isRestored(restored, before)).toBe(true);
    expect(overridesOf(restored)).toEqual(before);
    expect(restored.metadata.annotations).toEqual({});
    expect(restored).toMatchObject({ spec: { managementState: 'Managed' } });
    expect(restorePatch(restored)).toBeUndefined();
  });

  it('leaves alone what another has set since', async () => {
    const etcd = etcdWith({ [flag]: true, later: 1 }, 'null');
    const kube = fakeKube().put(etcdCluster.kind, etcd);
    const restored = await kube.patch(etcdCluster, restorePatch(etcd)!, signal);
    expect(overridesOf(restored)).toEqual({ later: 1 });
  });

  it('takes a record that cannot be read for none having been there', () => {
    expect(recordedBefore(etcdWith({ [flag]: true }, '{"a'))).toEqual({ before: null });
  });

  it.each([[null], [undefined], [[]], ['text'], [{ [flag]: 'true' }]])(
    'is not seen in %j',
    (overrides) => {
      expect(isOverridden(etcdWith(overrides))).toBe(false);
    },
  );
});
