import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { etcdCluster, overridePatch } from '../../cluster/etcd.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  jobs,
  namespaces,
  roleBindings,
  roles,
  serviceAccounts,
} from '../../cluster/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { createFollowUpJob } from './leave-job.ts';
import { clientKeyPatch, recordRef } from './record.ts';

const config = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.18.1' },
  images: { self: 'quay.io/b:v1' },
} satisfies ConfigInput;

const own = inventoryHost({ id: 'h0', name: 'M0', addresses: ['192.0.2.7', '192.0.2.7'] });
const world = () => ({
  config,
  kube: fakeKube(),
  host: fakeHost(),
  inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h1', name: 'm1' }), own] }),
});

const everyKind = [
  namespaces,
  clusterRoles,
  clusterRoleBindings,
  configMaps,
  serviceAccounts,
  roles,
  roleBindings,
  jobs,
];
const left = (kube: FakeKube): readonly string[] =>
  everyKind.flatMap((kind) =>
    kube
      .objectsOf(kind)
      .map(({ metadata }) => `${kind.plural} ${metadata.namespace ?? ''}/${metadata.name}`),
  );
const recordIn = (kube: FakeKube): unknown => kube.objectsOf(configMaps)[0]?.['data'];

describe('after-pivot/leave-job', () => {
  it('leaves a record, permissions and a job', async () => {
    const run = world();
    await runStep(createFollowUpJob, run);
    expect(left(run.kube)).toEqual([
      'namespaces /assisted-installer',
      'clusterroles /bootwright-after-pivot',
      'clusterrolebindings /bootwright-after-pivot',
      'configmaps assisted-installer/bootwright-after-pivot',
      'serviceaccounts assisted-installer/bootwright-after-pivot',
      'roles assisted-installer/bootwright-after-pivot',
      'roles openshift-etcd/bootwright-after-pivot',
      'rolebindings assisted-installer/bootwright-after-pivot',
      'rolebindings openshift-etcd/bootwright-after-pivot',
      'jobs assisted-installer/bootwright-after-pivot',
    ]);
    expect(recordIn(run.kube)).toMatchObject({
      node: 'm0',
      addresses: '192.0.2.7',
      etcdOverridden: 'false',
    });
  });

  it('leaves the record alone where the controller is this program too', async () => {
    const run = world();
    const images = { ...config.images, controller: config.images.self };
    await runStep(createFollowUpJob, { ...run, config: { ...config, images } });
    expect(left(run.kube)).toEqual([
      'namespaces /assisted-installer',
      'configmaps assisted-installer/bootwright-after-pivot',
    ]);
    expect(run.kube.objectsOf(configMaps)[0]?.metadata).not.toHaveProperty('ownerReferences');
  });

  it('leaves a job where there is no service, and so no controller', async () => {
    const run = world();
    run.host.withFile('/proc/sys/kernel/hostname', 'm0\n');
    const images = { ...config.images, controller: config.images.self };
    await runStep(createFollowUpJob, {
      ...run,
      config: { ...config, images, service: { url: '' } },
    });
    expect(left(run.kube)).toContain('jobs assisted-installer/bootwright-after-pivot');
  });

  it('makes whatever must be there before the job is', async () => {
    const run = world();
    await runStep(createFollowUpJob, run);
    expect(run.kube.writes.at(-1)).toMatchObject({ verb: 'create', kind: 'jobs' });
  });

  it('changes nothing when it is run again', async () => {
    const run = world();
    await runStep(createFollowUpJob, run);
    const before = run.kube.writes.length;
    await runStep(createFollowUpJob, run);
    expect(run.kube.writes.slice(before)).toEqual([]);
  });

  it('mends what an earlier attempt left, and keeps what the job has added', async () => {
    const run = world();
    await runStep(createFollowUpJob, run);
    const { signal } = new AbortController();
    await run.kube.patch(recordRef, clientKeyPatch('00ff'), signal);
    const late = { type: 'merge', body: { data: { node: 'late' } } } as const;
    await run.kube.patch(recordRef, late, signal);
    await runStep(createFollowUpJob, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'm0', clientKey: '00ff' });
  });

  it('leaves a namespace as it is', async () => {
    const run = world();
    const there = { metadata: { name: 'assisted-installer', labels: { own: 'yes' } } };
    run.kube.put(namespaces, there);
    await runStep(createFollowUpJob, run);
    expect(run.kube.objectsOf(namespaces)).toMatchObject([there]);
  });

  it('records that the settings of etcd were changed', async () => {
    const run = world();
    run.kube.put(etcdCluster.kind, { metadata: { name: 'cluster' }, spec: {} });
    await run.kube.patch(etcdCluster, overridePatch(null), new AbortController().signal);
    await runStep(createFollowUpJob, run);
    expect(recordIn(run.kube)).toMatchObject({ etcdOverridden: 'true' });
  });

  it.each<[string, ReturnType<typeof fakeInventory>]>([
    ['has no such host', fakeInventory({ hosts: [] })],
    [
      'does not answer',
      fakeInventory().failing('enabledHosts', inventoryFailure('inventory.unreachable', 'down')),
    ],
  ])('asks the host for its name and addresses when the service %s', async (_, inventory) => {
    const run = { ...world(), inventory };
    run.host.withFile('/proc/sys/kernel/hostname', 'Live-1\n');
    const output = [{ addr_info: [{ family: 'inet', local: '192.0.2.9', prefixlen: 24 }] }];
    run.host
      .on(['ip', '-json', 'address', 'show', 'scope', 'global'])
      .prints(JSON.stringify(output));
    await runStep(createFollowUpJob, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'live-1', addresses: '192.0.2.9' });
  });

  it('does not keep the reboot waiting for a service that is away', async () => {
    const clock = fakeClock();
    const inventory = fakeInventory();
    const enabledHosts: typeof inventory.enabledHosts = async (signal) => {
      await clock.sleep(minutes(10), signal);
      return [];
    };
    const run = { ...world(), clock, inventory: { ...inventory, enabledHosts } };
    run.host.withFile('/proc/sys/kernel/hostname', 'live-1\n');
    await runStep(createFollowUpJob, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'live-1' });
    expect(clock.now()).toBe(seconds(30));
  });

  it.each<[string, ConfigInput]>([
    ['is not wanted', { ...config, bootstrap: { followUp: 'never' } }],
    ['has no image to run', { ...config, images: {} }],
    ['would follow a dry host', { ...config, host: { reach: 'dry' } }],
  ])('is left out when it %s', async (_, other) => {
    const run = { ...world(), config: other };
    const { events } = await runStep(createFollowUpJob, run);
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(run.kube.writes).toEqual([]);
  });

  it.each(['auto', 'always'] as const)(
    'is tried for as long as a hand-over is, where the API server is away (%s)',
    async (followUp) => {
      const clock = fakeClock({ auto: false });
      const run = { ...world(), clock, config: { ...config, bootstrap: { followUp } } };
      run.kube.lastError(kubeFailure('kube.unreachable', 'connection refused'));
      const end = runStep(createFollowUpJob, run);
      await clock.advance(minutes(9));
      expect(left(run.kube)).toEqual([]);
      run.kube.lastError(undefined);
      await clock.advance(minutes(1));
      const { events, notes } = await end;
      expect(left(run.kube)).toContain('jobs assisted-installer/bootwright-after-pivot');
      expect(statusesOf(events)).toEqual([
        'the record of this host is not in the cluster yet (kube.unreachable)',
      ]);
      expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
    },
  );

  it('is given up at once when the API server refuses what it is', async () => {
    const clock = fakeClock();
    const invalid = kubeFailure('kube.invalid', 'no', { context: { status: 422 } });
    const run = { ...world(), clock };
    run.kube.lastError(invalid);
    const { notes } = await runStep(createFollowUpJob, run);
    expect([clock.now(), notes.length]).toEqual([0, 1]);
  });

  it('ends no installation by itself', async () => {
    const run = world();
    run.kube.lastError(kubeFailure('kube.unreachable', 'down'));
    const { notes } = await runStep(createFollowUpJob, run);
    expect(notes).toEqual([expect.stringMatching(/^warn: nothing is left for the follow-up job/)]);
  });

  it('is left where the API server does not know of a time to live', async () => {
    const run = world();
    const create: FakeKube['create'] = (into, object, signal) => {
      // The strategy of jobs does so before Kubernetes 1.21, that is OpenShift 4.8.
      const { ttlSecondsAfterFinished: dropped, ...spec } = Object(object['spec']) as {
        ttlSecondsAfterFinished?: unknown;
      };
      const kept = into.kind === jobs && dropped !== undefined ? { ...object, spec } : object;
      return run.kube.create(into, kept, signal);
    };
    const asked = {
      ...config,
      cluster: { ...config.cluster, openshiftVersion: '4.6.60' },
      bootstrap: { followUp: 'always' },
    } satisfies ConfigInput;
    const kube = { ...run.kube, create };
    expect(await tryStep(createFollowUpJob, { ...run, kube, config: asked })).not.toHaveProperty(
      'failure',
    );
  });

  it.each<[string, string, (run: ReturnType<typeof world>) => void]>([
    ['no image is known', 'after-pivot.no-image', () => undefined],
    [
      'the cluster does not answer',
      'wait.timed-out',
      ({ kube }) => kube.lastError(kubeFailure('kube.unreachable', 'down')),
    ],
    [
      'a job of another kind is there',
      'after-pivot.not-left',
      ({ kube }) =>
        kube.put(jobs, {
          metadata: { name: 'bootwright-after-pivot', namespace: 'assisted-installer' },
          spec: {},
        }),
    ],
  ])('fails when it is asked for and %s', async (what, code, prepare) => {
    const images = what.startsWith('no image') ? {} : config.images;
    const run = world();
    prepare(run);
    const asked = { ...config, images, bootstrap: { followUp: 'always' } } satisfies ConfigInput;
    const { failure } = await tryStep(createFollowUpJob, { ...run, config: asked });
    expect(failure).toMatchObject({ code });
  });
});
