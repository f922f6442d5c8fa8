import { describe, expect, it } from 'vitest';
import { bootkubeHost } from '../../../test/support/cluster-objects.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { isSafeToRepeat, runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { overrideAnnotation } from '../../cluster/etcd.ts';
import { etcds } from '../../kube/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { minutes } from '../../model/duration.ts';
import { patchEtcd, putEtcdBack } from './etcd-override.ts';
import { step } from '../step.ts';

const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';
const config: ConfigInput = {
  role: 'bootstrap',
  cluster: { openshiftVersion: '4.6.1' },
  images: { self: 'quay.io/b:v1' },
};
const facts = { controlPlane: { units: ['bootkube.service'] } };

const etcd = (overrides?: unknown, record?: string) => ({
  metadata: {
    name: 'cluster',
    ...(record === undefined ? {} : { annotations: { [overrideAnnotation]: record } }),
  },
  spec: {
    managementState: 'Managed',
    ...(overrides === undefined ? {} : { unsupportedConfigOverrides: overrides }),
  },
});

const now = (kube: FakeKube) => {
  const [{ metadata, spec } = etcd()] = kube.objectsOf(etcds) as ReturnType<typeof etcd>[];
  return {
    overrides: spec.unsupportedConfigOverrides ?? null,
    record: metadata.annotations?.[overrideAnnotation],
  };
};

/** The action of the controller once three etcd members are healthy, as a step of its own. */
const putBack = step({
  id: 'test/put-etcd-back',
  title: 'Put etcd back',
  uses: ['kube'],
  limit: minutes(1),
  run: putEtcdBack,
});

describe('cluster/patch-etcd', () => {
  it.each<[string, ConfigInput]>([
    ['a release that does not need it', { cluster: { openshiftVersion: '4.7.0' } }],
    ['the setting never', { ...config, bootstrap: { etcdOverride: 'never' } }],
    ['an unknown version', { role: 'bootstrap' }],
    [
      'a controller that would not restore it',
      { ...config, service: { url: 'http://svc.example' } },
    ],
  ])('is skipped with %s', async (_, other) => {
    const kube = fakeKube().put(etcds, etcd());
    const { events } = await runStep(patchEtcd, {
      kube,
      config: other,
      facts,
      host: bootkubeHost(),
    });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(kube.writes).toEqual([]);
  });

  it('waits for the etcd object', async () => {
    const kube = fakeKube();
    const run = runStep(patchEtcd, { kube, config, facts, host: bootkubeHost() });
    await settle();
    expect(kube.writes).toEqual([]);
    kube.put(etcds, etcd());
    const { events } = await run;
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: 'there is no etcd/cluster yet' }),
    );
    expect(now(kube).overrides).toEqual({ [flag]: true });
  });

  it('is done on request for a release that does not need it, and is taken back', async () => {
    const kube = fakeKube().put(etcds, etcd({ a: 1 }));
    const onRequest: ConfigInput = {
      ...config,
      cluster: { openshiftVersion: '4.20.1' },
      bootstrap: { etcdOverride: 'always' },
    };
    await runStep(patchEtcd, { kube, config: onRequest, facts, host: bootkubeHost() });
    expect(now(kube)).toEqual({ overrides: { a: 1, [flag]: true }, record: '{"a":1}' });
    await runStep(putBack, { kube });
    expect(now(kube)).toEqual({ overrides: { a: 1 }, record: undefined });
  });

  it('keeps the first record when it is run again', async () => {
    const kube = fakeKube().put(etcds, etcd({ [flag]: true, a: 1 }, '{"a":1}'));
    await runStep(patchEtcd, { kube, config, facts, host: bootkubeHost() });
    expect(now(kube)).toEqual({ overrides: { [flag]: true, a: 1 }, record: '{"a":1}' });
    expect(kube.writes).toEqual([]);
  });

  it('sets a removed flag again and keeps the first record', async () => {
    const kube = fakeKube().put(etcds, etcd({ b: 2 }, '{"a":1}'));
    await runStep(patchEtcd, { kube, config, facts, host: bootkubeHost() });
    expect(now(kube)).toEqual({ overrides: { b: 2, [flag]: true }, record: '{"a":1}' });
  });

  it.each(['kube.denied', 'kube.invalid', 'kube.unreachable'] as const)(
    'retries for 30 minutes when the API server answers %s',
    async (code) => {
      const clock = fakeClock({ auto: false });
      const kube = fakeKube().put(etcds, etcd());
      let isRefused = true;
      const refusing: FakeKube = {
        ...kube,
        patch: (ref, patch, signal) =>
          isRefused ? Promise.reject(kubeFailure(code, 'no')) : kube.patch(ref, patch, signal),
      };
      const run = { kube: refusing, clock, config, facts, host: bootkubeHost() };
      const end = tryStep(patchEtcd, run);
      await clock.advance(minutes(30));
      isRefused = false;
      await clock.advance(minutes(1));
      const { events } = await end;
      expect(now(kube)).toEqual({ overrides: { [flag]: true }, record: 'null' });
      expect(statusesOf(events)).toEqual([`etcd/cluster cannot be changed yet (${code})`]);
    },
  );

  it('fails when the cluster does not store the override', async () => {
    const kube = fakeKube().put(etcds, etcd());
    const forgetful = { ...kube, patch: () => Promise.resolve(etcd()) };
    const { failure } = await tryStep(patchEtcd, {
      kube: forgetful,
      config,
      facts,
      host: bootkubeHost(),
    });
    expect(failure).toMatchObject({ code: 'cluster.etcd-not-overridden', kind: 'cluster' });
  });
});

describe('putEtcdBack', () => {
  it.each<[string, KubeObject | undefined]>([
    ['there is no etcd object', undefined],
    ['the override has no annotation', etcd({ [flag]: true })],
    ['the cluster does not remove the override', etcd({ [flag]: true }, 'null')],
  ])('fails when %s', async (_, object) => {
    const kube = object === undefined ? fakeKube() : fakeKube().put(etcds, object);
    const stubborn = { ...kube, patch: () => Promise.resolve(etcd()) };
    const { failure } = await tryStep(putBack, { kube: stubborn });
    expect(failure).toMatchObject({ code: 'cluster.etcd-not-restored' });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(putBack, () => {
      const kube = fakeKube().put(etcds, etcd({ [flag]: true }, 'null'));
      return { host: fakeHost(), kube, world: () => now(kube) };
    });
  });
});
