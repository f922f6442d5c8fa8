import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { tryInstallationStep } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { clusterOperators, clusterVersions, configMaps } from '../../kube/kinds.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { InstallingCluster } from '../../ports/inventory.ts';
import { builtinOperators, completeInstallation } from './complete-installation.ts';

const away = inventoryFailure('inventory.unreachable', 'no route to host');
const gone = inventoryFailure('inventory.not-found', 'record not found');
const rejected = inventoryFailure('inventory.rejected', 'cluster is installed');

const conditions = (words: Readonly<Record<string, string>>, message = '') =>
  Object.entries(words).map(([type, status]) => ({ type, status, message }));

const console = (words: Readonly<Record<string, string>>, message = '') => ({
  metadata: { name: 'console' },
  status: { conditions: conditions(words, message), versions: [{ version: '4.16.2' }] },
});
const version = (
  words: Readonly<Record<string, string>>,
  message = '',
  known: readonly string[] = [],
) => ({
  metadata: { name: 'version' },
  status: {
    conditions: conditions(words, message),
    desired: { version: '4.16.2' },
    capabilities: { knownCapabilities: known, enabledCapabilities: [] },
  },
});
const routerCa = {
  metadata: { name: 'default-ingress-cert', namespace: 'openshift-config-managed' },
  data: { 'ca-bundle.crt': 'PEM' },
};

interface Given {
  readonly cluster?: Partial<InstallingCluster>;
  readonly checkClusterVersion?: boolean;
}

function setUp({ cluster, checkClusterVersion = true }: Given = {}) {
  const clock = fakeClock();
  const inventory = fakeInventory({ cluster: { status: 'finalizing', ...cluster } });
  inventory.setOperators([{ name: 'console' }, { name: 'cvo' }]);
  const kube = fakeKube();
  const later = (after: number, change: () => void): void => {
    void clock.sleep(after, new AbortController().signal).then(change);
  };
  const run = (signal = new AbortController().signal) =>
    tryInstallationStep(completeInstallation, {
      clock,
      inventory,
      kube,
      signal,
      config: { cluster: { openshiftVersion: '4.16.2' }, controller: { checkClusterVersion } },
    });
  const ready = () =>
    kube
      .put(clusterOperators, console({ Available: 'True' }, 'well'))
      .put(clusterVersions, version({ Available: 'True' }, 'done'))
      .put(configMaps, routerCa);
  const changes = () => inventory.calls.filter((call) => !/^(operators|clusterFile)/.test(call));
  return { clock, inventory, kube, later, run, ready, changes };
}

const operators = ['operator console available', 'operator cvo available'];
const stages = [
  'stage Waiting for cluster operators',
  'stage Adding router ca',
  'stage Waiting for olm operators csv initialization',
  'stage Done',
] as const;
const [atOperators, atRouter, atOlm, atDone] = stages;

describe('completing the installation', () => {
  it('waits for the service to finalize and reports the stages in order', async () => {
    const { clock, inventory, later, ready, run, changes } = setUp({
      cluster: { status: 'installing' },
    });
    ready();
    later(minutes(7), () => inventory.set({ status: 'finalizing' }));
    const { failure } = await run();
    expect(failure).toBeUndefined();
    expect(changes()).toEqual([
      atOperators,
      ...operators,
      atRouter,
      'ingress ca PEM',
      atOlm,
      atDone,
      'complete true',
    ]);
    expect(inventory.results).toEqual([{ isSuccess: true, error: '' }]);
    expect(clock.elapsed()).toBeLessThan(minutes(7.2));
  });

  it('reports operator status changes at once and messages once a minute', async () => {
    const { kube, later, ready, run, inventory } = setUp();
    kube.put(clusterVersions, version({ Available: 'False', Progressing: 'True' }, '1 of 9'));
    for (let count = 2; count < 9; count += 1)
      later(count * 20_000, () =>
        kube.put(
          clusterVersions,
          version({ Available: 'False', Progressing: 'True' }, `${count} of 9`),
        ),
      );
    later(minutes(30), ready);
    await run();
    const reports = inventory.operatorReports.map(
      ({ name, status, statusInfo }) => `${name} ${status} ${statusInfo}`,
    );
    expect(reports).toEqual([
      'cvo progressing 1 of 9',
      'cvo progressing 3 of 9',
      'cvo progressing 6 of 9',
      'cvo progressing 8 of 9',
      'console available well',
      'cvo available done',
    ]);
    expect(inventory.operatorReports.every((one) => one.version === '4.16.2')).toBe(true);
    expect(inventory.calls.filter((call) => call === 'operators')).toHaveLength(2);
  });

  it('retries failed requests to the service', async () => {
    const { inventory, ready, run, changes } = setUp();
    ready();
    for (const call of [
      'reportFinalizing',
      'operators',
      'reportOperator',
      'uploadIngressCa',
      'complete',
    ] as const)
      inventory.failing(call, away, 2);
    expect((await run()).failure).toBeUndefined();
    const count = (what: string) => changes().filter((call) => call.startsWith(what)).length;
    expect([count('stage'), count('ingress'), count('complete')]).toEqual([6, 3, 3]);
    expect(inventory.operatorReports).toHaveLength(2);
  });

  it('waits for a late router CA', async () => {
    const { clock, kube, later, ready, run } = setUp();
    ready().drop({
      kind: configMaps,
      name: 'default-ingress-cert',
      namespace: 'openshift-config-managed',
    });
    later(minutes(20), () => kube.put(configMaps, { ...routerCa, data: {} }));
    later(minutes(50), () => kube.put(configMaps, routerCa));
    expect((await run()).failure).toBeUndefined();
    expect(clock.elapsed()).toBeLessThan(minutes(50.2));
  });

  it('fails the installation after ten hours with the status of the operators', async () => {
    const { clock, inventory, kube, run } = setUp();
    kube.put(clusterVersions, version({ Available: 'False' }));
    kube.put(clusterOperators, console({ Available: 'False' }, 'no route'));
    expect((await run()).failure).toBeUndefined();
    expect(inventory.results).toEqual([
      {
        isSuccess: false,
        error: 'Stopped waiting for cluster operators to be available: context deadline exceeded',
        data: {
          CLUSTER_OPERATORS_REPORT: [
            { name: 'console', status: 'failed', status_info: 'no route' },
          ],
        },
      },
    ]);
    expect(clock.elapsed()).toBeGreaterThanOrEqual(hours(10));
  });
});

describe('the ten-hour timeout of the operators', () => {
  const fails = async (startedAt: (now: number) => number | undefined) => {
    const { clock, inventory, kube, run } = setUp();
    const began = startedAt(clock.now());
    const stage = 'Waiting for cluster operators';
    const started = began === undefined ? {} : { startedAt: began };
    inventory.set({
      status: 'finalizing',
      finalizing: { stage, isTimedOut: false, ...started },
    });
    kube.put(clusterVersions, version({ Available: 'False' }));
    expect((await run()).failure).toBeUndefined();
    expect(inventory.results).toMatchObject([{ isSuccess: false }]);
    return clock.elapsed();
  };

  it.each([
    [
      'continues from the start time of an earlier controller',
      (now: number) => now - hours(9),
      hours(1),
    ],
    ['has expired when the start was eleven hours ago', (now: number) => now - hours(11), 0],
    ['starts now when the service has no start time', () => undefined, hours(10)],
    [
      'starts now when the start time lies in the future',
      (now: number) => now + hours(3),
      hours(10),
    ],
  ])('%s', async (_, startedAt, expected) => {
    const took = await fails(startedAt);
    expect(took).toBeGreaterThanOrEqual(expected);
    expect(took).toBeLessThan(expected + minutes(2));
  });
});

describe('completing an installation that the service has ended', () => {
  it('accepts a rejected stage once the cluster is installed', async () => {
    const { clock, inventory, later, ready, run, changes } = setUp({
      cluster: { finalizing: { stage: 'Waiting for olm operators csv', isTimedOut: false } },
    });
    ready();
    inventory.failing('reportFinalizing', rejected, Infinity);
    for (let count = 1; count < 14; count += 1)
      later(seconds(5 * count), () => inventory.set({ status: 'finalizing' }));
    later(minutes(1.2), () => inventory.set({ status: 'installed' }));
    const { failure, notes } = await run();
    expect(failure).toBeUndefined();
    expect(inventory.results).toEqual([]);
    expect(inventory.refreshes()).toBe(1);
    expect(changes()).toEqual([atDone, atDone, atDone]);
    expect(notes).toEqual(['warn: trying again until the service has the stage Done']);
    expect(clock.elapsed()).toBe(minutes(1.2));
  });

  it.each([
    ['waits for the operators', 'Waiting for cluster operators'],
    ['waits for the CA of the router', 'Adding router ca'],
  ])('ends while it %s', async (_, stage) => {
    const { clock, inventory, later, run, changes } = setUp({
      cluster: { finalizing: { stage, isTimedOut: false } },
    });
    later(minutes(3), () => inventory.set({ status: 'installed' }));
    expect((await run()).failure).toBeUndefined();
    expect(changes()).toEqual([]);
    expect(clock.elapsed()).toBe(minutes(3));
  });
});

describe('the builtin operators', () => {
  const seen = { status: 'available', text: '', version: '4.16.2' };

  it.each([
    ['the console while the capabilities are unknown', undefined, false, [['console', undefined]]],
    ['the console by default', version({}), false, [['console', seen]]],
    ['none without the Console capability', version({}, '', ['Console']), false, []],
    [
      'the cluster version alone without the Console capability',
      version({ Available: 'True' }, '', ['Console']),
      true,
      [['cvo', seen]],
    ],
    [
      'both while nothing is known',
      undefined,
      true,
      [
        ['console', undefined],
        ['cvo', undefined],
      ],
    ],
  ] as const)('are %s', (...[, found, waitsForVersion, expected]) => {
    const seenConsole = console({ Available: 'True' });
    const operators = builtinOperators(found, seenConsole, { gap: undefined, waitsForVersion });
    expect(operators.map((one) => [one.name, one.seen])).toEqual(expected);
  });

  it('do not include a report for an operator that the service does not know', async () => {
    const { inventory, ready, run, changes } = setUp();
    ready();
    inventory.setOperators([{ name: 'console' }]);
    expect((await run()).failure).toBeUndefined();
    expect(changes()).not.toContain('operator cvo available');
    expect(inventory.results).toEqual([{ isSuccess: true, error: '' }]);
  });

  it('are listed again when the service rejects a report', async () => {
    const { inventory, later, ready, run } = setUp();
    ready();
    inventory.failing('reportOperator', gone, Infinity);
    later(minutes(1), () => inventory.setOperators([]));
    await run();
    expect(inventory.operatorReports).toEqual([]);
    expect(inventory.results).toEqual([{ isSuccess: true, error: '' }]);
  });
});
