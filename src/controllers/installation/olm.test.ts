import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { tryInstallationStep } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import {
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  installPlans,
  jobs,
  subscriptions,
} from '../../kube/kinds.ts';
import { minutes } from '../../model/duration.ts';
import { type FinalizingStage, finalizingStages } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { completeInstallation } from './complete-installation.ts';

const away = inventoryFailure('inventory.unreachable', 'no route to host');

const operator = (name: string) =>
  ({
    name,
    type: 'olm',
    namespace: `openshift-${name}`,
    subscription: `${name}-operator`,
  }) as const;
const manifest = (name: string) => ({
  Name: name,
  Content: Buffer.from(`apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: of-${name}\n`).toString(
    'base64',
  ),
});
const stage = (name: FinalizingStage): string => `stage ${name}`;
const [init, apply, wait] = [
  'Waiting for olm operators csv initialization',
  'Applying olm manifests',
  'Waiting for olm operators csv',
] as const;

/** An installation in the stages of OLM, with operators of these names. */
function setUp(...names: readonly string[]) {
  const clock = fakeClock();
  const files = { 'custom_manifests.json': JSON.stringify(names.map(manifest)) };
  const finalizing = { stage: 'Adding router ca', isTimedOut: false };
  const inventory = fakeInventory({ cluster: { status: 'finalizing', finalizing }, files });
  inventory.setOperators(names.map(operator));
  const [kube, adminKube] = [fakeKube(), fakeKube()];
  kube.put(configMaps, {
    metadata: { name: 'default-ingress-cert', namespace: 'openshift-config-managed' },
    data: { 'ca-bundle.crt': 'PEM' },
  });
  const subscribe = (name: string) =>
    kube
      .put(subscriptions, {
        metadata: { name: `${name}-operator`, namespace: `openshift-${name}` },
        status: { currentCSV: `${name}.v4` },
      })
      .put(clusterServiceVersions, {
        // A copy that OLM makes in each namespace.
        metadata: { name: `${name}.v4`, namespace: 'default', labels: { 'olm.copiedFrom': 'x' } },
      });
  const phase = (name: string, to: string, message = '') =>
    kube.put(clusterServiceVersions, {
      metadata: { name: `${name}.v4`, namespace: `openshift-${name}` },
      spec: { version: '4.12.0' },
      status: { phase: to, message },
    });
  const later = (after: number, change: () => void): void => {
    void clock.sleep(after, new AbortController().signal).then(change);
  };
  const giveUp = (after: number, name: FinalizingStage): void =>
    later(after, () => inventory.set({ finalizing: { stage: name, isTimedOut: true } }));
  const run = (signal = new AbortController().signal) =>
    tryInstallationStep(completeInstallation, {
      clock,
      inventory,
      kube,
      adminKube,
      signal,
      config: { cluster: { openshiftVersion: '4.16.2' } },
    });
  const changes = () =>
    inventory.calls.filter((call) => !/^(operators|ingress|clusterFile)/.test(call));
  const applied = () => adminKube.objectsOf(configMaps).map(({ metadata }) => metadata.name);
  return {
    clock,
    inventory,
    kube,
    adminKube,
    subscribe,
    phase,
    later,
    giveUp,
    run,
    changes,
    applied,
  };
}

describe('OLM operators', () => {
  it('get their manifests once they have a CSV, and are reported until available', async () => {
    const { subscribe, phase, later, run, changes, applied, inventory, kube, clock } = setUp('lso');
    later(minutes(1), () => subscribe('lso'));
    later(minutes(2), () => phase('lso', 'InstallReady', 'waiting'));
    later(minutes(4), () => phase('lso', 'Succeeded', 'done'));
    const { failure } = await run();
    expect(failure).toBeUndefined();
    expect(changes()).toEqual([
      ...[stage(init), stage(apply), stage(wait)],
      ...['operator lso progressing', 'operator lso available'],
      ...[stage('Done'), 'complete true'],
    ]);
    expect(inventory.operatorReports.at(-1)).toEqual({
      name: 'lso',
      version: '4.12.0',
      status: 'available',
      statusInfo: 'done',
    });
    expect(applied()).toEqual(['of-lso']);
    expect(kube.writes).toEqual([]);
    expect(clock.elapsed()).toBeLessThan(minutes(4.2));
  });

  it('finish independently, even with a temporary failure', async () => {
    const { subscribe, phase, later, run, changes } = setUp('lso', 'cnv');
    for (const name of ['lso', 'cnv']) {
      subscribe(name);
      phase(name, 'Installing');
    }
    later(minutes(1), () => phase('cnv', 'Failed', 'no'));
    later(minutes(2), () => phase('lso', 'Succeeded'));
    later(minutes(3), () => phase('cnv', 'Succeeded'));
    await run();
    expect(changes().filter((call) => call.startsWith('operator'))).toEqual([
      'operator lso progressing',
      'operator cnv progressing',
      'operator lso available',
      'operator cnv available',
    ]);
  });

  it('are reported as failed after five minutes, and may recover', async () => {
    const { subscribe, phase, later, run, inventory } = setUp('lso');
    subscribe('lso');
    phase('lso', 'Failed', 'no');
    later(minutes(9), () => phase('lso', 'Succeeded', 'done'));
    await run();
    const reports = inventory.operatorReports.map(
      ({ status, statusInfo }) => `${status} ${statusInfo}`,
    );
    expect(reports).toEqual(['failed no', 'available done']);
  });

  it('get their failed jobs and install plans removed while they have no CSV', async () => {
    const { subscribe, phase, later, run, kube } = setUp('lso');
    const failed = { namespace: 'openshift-marketplace', name: 'unpack' };
    kube.put(jobs, { metadata: failed, status: { failed: 1 } });
    kube.put(installPlans, {
      metadata: {
        name: 'plan',
        namespace: 'openshift-lso',
        ownerReferences: [{ name: 'lso-operator' }],
      } as never,
      status: { phase: 'Failed' },
    });
    later(minutes(1), () => {
      subscribe('lso');
      phase('lso', 'Succeeded');
    });
    await run();
    expect(kube.writes.map(({ verb, kind, name }) => `${verb} ${kind} ${name}`)).toEqual([
      'remove jobs unpack',
      'remove installplans plan',
    ]);
  });

  it('keep a job that was recreated before its removal', async () => {
    const uid = 'job-2';
    const { subscribe, phase, later, run, kube } = setUp('lso');
    const unpack = { namespace: 'openshift-marketplace', name: 'unpack' };
    kube.put(jobs, { metadata: { ...unpack, uid: 'job-1' }, status: { failed: 1 } });
    kube.before('remove', () => {
      kube.drop({ kind: jobs, ...unpack });
      kube.put(jobs, { metadata: { ...unpack, uid }, status: {} });
    });
    later(minutes(1), () => {
      subscribe('lso');
      phase('lso', 'Succeeded');
    });
    expect((await run()).failure).toBeUndefined();
    expect(kube.objectsOf(jobs).map(({ metadata }) => metadata.uid)).toEqual([uid]);
  });

  it('get no second attempt to remove a job when that is forbidden', async () => {
    const { subscribe, phase, later, run, kube } = setUp('lso');
    kube.put(jobs, {
      metadata: { namespace: 'openshift-marketplace', name: 'unpack' },
      status: { failed: 1 },
    });
    let asked = 0;
    const remove = () => {
      asked += 1;
      return Promise.reject(
        kubeFailure('kube.denied', 'jobs is forbidden', { context: { status: 403 } }),
      );
    };
    Object.assign(kube, { remove });
    later(minutes(5), () => {
      subscribe('lso');
      phase('lso', 'Succeeded');
    });
    expect((await run()).notes).toContain('warn: may not remove failed jobs');
    expect(asked).toBe(1);
  });

  it('get each manifest applied once despite temporary failures', async () => {
    const { subscribe, phase, run, adminKube, inventory, applied } = setUp('cnv', 'lso');
    for (const name of ['lso', 'cnv']) {
      subscribe(name);
      phase(name, 'Succeeded');
    }
    inventory.failing('clusterFile', away, 2);
    const { apply: whole } = adminKube;
    let refusals = 3;
    const apply: typeof whole = (object, signal) => {
      if (object.metadata.name !== 'of-cnv' || refusals === 0) return whole(object, signal);
      refusals -= 1;
      return Promise.reject(kubeFailure('kube.invalid', 'a webhook does not answer'));
    };
    Object.assign(adminKube, { apply });
    expect((await run()).failure).toBeUndefined();
    expect(applied()).toEqual(['of-cnv', 'of-lso']);
    expect(adminKube.writes.map(({ name }) => name)).toEqual(['of-lso', 'of-cnv']);
  });
});

describe('OLM operators that time out at the service', () => {
  it('are reported as failed, and the installation succeeds without them', async () => {
    const { clock, giveUp, run, changes, inventory, applied } = setUp('lso', 'cnv');
    giveUp(minutes(70), init);
    giveUp(minutes(80), apply);
    giveUp(minutes(150), wait);
    const { failure } = await run();
    expect(failure).toBeUndefined();
    expect(changes()).toEqual([
      ...[stage(init), stage(apply), stage(wait)],
      ...['operator lso failed', 'operator cnv failed'],
      ...[stage('Done'), 'complete true'],
    ]);
    expect(inventory.operatorReports.map(({ statusInfo }) => statusInfo)).toEqual(
      Array.from({ length: 2 }, () => 'Waiting for operator timed out'),
    );
    expect(clock.elapsed()).toBe(minutes(150));
    expect(applied()).toEqual([]);
  });

  it('keep the status Available or Failed that they have reached', async () => {
    const { subscribe, phase, giveUp, run, inventory, applied } = setUp('lso', 'cnv', 'odf');
    for (const [name, to] of [
      ['lso', 'Succeeded'],
      ['cnv', 'Failed'],
      ['odf', 'Installing'],
    ] as const) {
      subscribe(name);
      phase(name, to);
    }
    giveUp(minutes(70), wait);
    await run();
    const reports = inventory.operatorReports.map(({ name, status }) => `${name} ${status}`);
    expect(reports).toEqual(['lso available', 'odf progressing', 'cnv failed', 'odf failed']);
    expect(applied()).toEqual(['of-cnv', 'of-lso', 'of-odf']);
  });

  it('are skipped when the service has never listed them', async () => {
    const { giveUp, run, changes, inventory } = setUp('lso');
    inventory.failing('operators', away, Infinity);
    giveUp(minutes(70), init);
    await run();
    expect(changes()).toEqual([stage(init), stage('Done'), 'complete true']);
  });
});

describe('a controller that is killed', () => {
  /**
   * A service that remembers its stage, and a controller that is killed at one of its calls, before
   * or after the call took effect.
   */
  async function killedAt(call: number, when: 'before' | 'after') {
    const test = setUp('lso');
    const { inventory, kube, adminKube, subscribe, phase } = test;
    inventory.set({ finalizing: { stage: '', isTimedOut: false } });
    // A cluster without a console.
    kube.put(clusterVersions, {
      metadata: { name: 'version' },
      status: { capabilities: { knownCapabilities: ['Console'] } },
    });
    subscribe('lso');
    phase('lso', 'Succeeded', 'done');
    const killer = new AbortController();
    let [count, isKilled] = [0, false];
    const killing =
      <A extends readonly unknown[], R>(work: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        count += 1;
        const isNow = count === call;
        if (isNow) isKilled = true;
        if (isNow && when === 'before') killer.abort(new Error('killed'));
        killer.signal.throwIfAborted();
        const result = await work(...given);
        if (isNow) killer.abort(new Error('killed'));
        return result;
      };
    const { reportFinalizing, reportOperator, uploadIngressCa, complete } = inventory;
    const stages: string[] = [];
    const remembering: typeof reportFinalizing = async (at, signal) => {
      await reportFinalizing(at, signal);
      stages.push(at);
      inventory.set({ finalizing: { stage: at, isTimedOut: false } });
    };
    const calls = {
      reportFinalizing: killing(remembering),
      reportOperator: killing(reportOperator),
      uploadIngressCa: killing(uploadIngressCa),
      complete: killing(complete),
    };
    Object.assign(inventory, calls);
    const { apply: applying } = adminKube;
    Object.assign(adminKube, { apply: killing(applying) });
    await test.run(killer.signal);
    if (isKilled) {
      Object.assign(inventory, {
        reportOperator,
        uploadIngressCa,
        complete,
        reportFinalizing: remembering,
      });
      Object.assign(adminKube, { apply: applying });
      await test.run();
    }
    return { ...test, stages, isKilled };
  }

  it.each(['before', 'after'] as const)(
    '%s any of its calls is continued by the next one',
    async (when) => {
      for (let call = 1; ; call += 1) {
        const { inventory, applied, stages, isKilled } = await killedAt(call, when);
        expect(stages, `killed ${when} call ${call}`).toEqual(finalizingStages);
        expect(applied()).toEqual(['of-lso']);
        expect(inventory.operatorReports.at(-1)?.status).toBe('available');
        expect(inventory.results.at(-1)).toEqual({ isSuccess: true, error: '' });
        if (!isKilled) {
          expect(call).toBe(11);
          return;
        }
      }
    },
  );
});
