import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { blockedControllerConfig } from '../../layering/manifests/bootstrap-files.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { Host } from '../../ports/host.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { followHosts } from './follow-hosts.ts';

const logs = '/var/log/containers';
const pods = '/var/log/pods/openshift-machine-config-operator_mcs-1/machine-config-server';
const name = 'mcs-1_openshift-machine-config-operator_machine-config-server-1f.log';
const config = {
  role: 'bootstrap',
  cluster: { hostId: 'own' },
  service: { url: 'http://svc.example' },
} as const;
/** The configuration of a host that may build OS images. */
const layered = { ...config, layering: { mode: 'on' } } as const;
const down = inventoryFailure('inventory.unreachable', 'down');

const line = (address: string): string =>
  `2026-11-21T10:00:00Z stderr F I1 api.go:109] Pool master requested by address:"${address}:4018" User-Agent:"Ignition/2.14.0"\n`;

const host = (id: string, address: string, more: Partial<InventoryHost> = {}): InventoryHost =>
  inventoryHost({ id, infraEnvId: `env-${id}`, name: id, addresses: [address], ...more });

const three = [
  host('m1', '10.0.0.1'),
  host('w1', '10.0.0.2', { role: 'worker' }),
  host('a1', 'FD00:0::3', { role: 'arbiter' }),
  host('own', '10.0.0.9'),
];

function setUp(hosts: readonly InventoryHost[] = three) {
  const clock = fakeClock({ auto: false });
  const inventory = fakeInventory({ hosts });
  return { config, facts: { controlPlane: { units: [] } }, clock, inventory, host: fakeHost() };
}

/** A host with the log of one instance, as the kubelet links it. */
const withLog = (run: ReturnType<typeof setUp>, text: string) =>
  run.host.withLink(`${logs}/${name}`, `${pods}/0.log`).withFile(`${pods}/0.log`, text);

const reported = ({ inventory }: ReturnType<typeof setUp>): readonly string[] =>
  inventory.reports.map(({ host: { infraEnvId, hostId }, stage, info }) =>
    [infraEnvId, hostId, stage, info].join('|'),
  );

describe('cluster/follow-hosts', () => {
  it('reports a host only after the config server is unblocked', async () => {
    const run = { ...setUp([host('m1', '10.0.0.1'), host('m2', '10.0.0.3')]), config: layered };
    run.host.withFile(blockedControllerConfig, 'kind: ControllerConfig');
    withLog(run, line('10.0.0.1'));
    const end = runStep(followHosts, run);
    await run.clock.advance(minutes(10));
    expect(reported(run)).toEqual([]);
    await run.host.remove(blockedControllerConfig, new AbortController().signal);
    withLog(run, line('10.0.0.1') + line('10.0.0.1'));
    await run.clock.advance(seconds(2));
    expect(reported(run)).toEqual(['env-m1|m1|Configuring|']);
    withLog(run, line('10.0.0.1') + line('10.0.0.1') + line('10.0.0.3'));
    await run.clock.advance(seconds(4));
    await end;
    expect(reported(run)).toHaveLength(2);
  });

  it('retries when it cannot read whether the config server is blocked', async () => {
    const run = { ...setUp([host('m1', '10.0.0.1')]), config: layered };
    withLog(run, line('10.0.0.1'));
    let questions = 0;
    const flaky: Host = {
      ...run.host,
      realPath: (path, signal) => {
        questions += path === blockedControllerConfig ? 1 : 0;
        return path === blockedControllerConfig && questions < 2
          ? Promise.reject(hostFailure('file.not-read', 'no'))
          : run.host.realPath(path, signal);
      },
    };
    const end = runStep(followHosts, { ...run, host: flaky });
    await run.clock.advance(minutes(1));
    await run.clock.advance(seconds(4));
    await end;
    expect([questions, reported(run).length]).toEqual([2, 1]);
  });

  it('reports each host once when its line appears and finishes with the last', async () => {
    const run = setUp();
    const end = runStep(followHosts, run);
    await run.clock.advance(seconds(2));
    withLog(run, line('10.0.0.1'));
    await run.clock.advance(seconds(2));
    expect(reported(run)).toEqual(['env-m1|m1|Configuring|']);
    const begun = line('10.0.0.1') + line('10.0.0.1') + line('10.0.0.2').slice(0, 40);
    withLog(run, begun);
    await run.clock.advance(seconds(2));
    expect(reported(run)).toHaveLength(1);
    withLog(run, begun + line('10.0.0.2').slice(40));
    await run.clock.advance(seconds(2));
    expect(reported(run)).toEqual(['env-m1|m1|Configuring|', 'env-w1|w1|Waiting for ignition|']);
    // The log was rotated.
    withLog(run, line('[fd00::3]'));
    await run.clock.advance(seconds(4));
    const { events } = await end;
    expect(reported(run)[2]).toBe('env-a1|a1|Configuring|');
    expect(run.inventory.calls.filter((call) => call === 'enabledHosts')).toHaveLength(1);
    expect(statusesOf(events)).toEqual([]);
  });

  it('reads the logs every two seconds', async () => {
    const run = setUp([host('m1', '10.0.0.1')]);
    const readAt: number[] = [];
    const watched: Host = {
      ...run.host,
      list: (path, signal) => {
        readAt.push(run.clock.now());
        return run.host.list(path, signal);
      },
    };
    const end = runStep(followHosts, { ...run, host: watched });
    await run.clock.advance(seconds(7));
    // The second read is the one after the list of hosts was answered.
    expect(readAt).toEqual([0, 0, 2, 4, 6].map(seconds));
    withLog(run, line('10.0.0.1'));
    await run.clock.advance(seconds(2));
    await end;
  });

  it('skips hosts at a later stage and the own host', async () => {
    const stages = ['Configuring', 'Joined', 'Done', 'Waiting for ignition'];
    const hosts = stages.map((stage, index) => host(`h${index}`, `10.0.1.${index}`, { stage }));
    const run = setUp([...hosts, host('own', '10.0.0.9')]);
    withLog(run, line('10.0.1.0') + line('10.0.0.9'));
    await runStep(followHosts, run);
    expect(reported(run)).toEqual([]);
  });

  it('matches whole addresses only and no host without addresses', async () => {
    const run = setUp([host('m1', '10.0.0.1'), inventoryHost({ id: 'none' })]);
    withLog(run, line('10.0.0.10') + line('10.0.0.11') + line('110.0.0.1'));
    const controller = new AbortController();
    const end = tryStep(followHosts, { ...run, signal: controller.signal });
    await run.clock.advance(minutes(5));
    controller.abort(new Error('over'));
    expect((await end).failure).toMatchObject({ message: 'over' });
    expect(reported(run)).toEqual([]);
    // One request at the beginning, and one more for the addresses without a host.
    expect(run.inventory.calls).toEqual(['enabledHosts', 'enabledHosts']);
  });

  it('lists the hosts again for an unknown address', async () => {
    const run = setUp();
    run.inventory.answering({
      enabledHosts: () =>
        Promise.resolve([host('m1', run.clock.now() < minutes(2) ? '10.0.0.1' : '10.0.0.7')]),
    });
    const end = runStep(followHosts, run);
    await run.clock.advance(minutes(3));
    withLog(run, line('10.0.0.7'));
    await run.clock.advance(seconds(4));
    await end;
    expect(reported(run)).toHaveLength(1);
  });

  it('retries a failed report while the others continue', async () => {
    const run = setUp();
    run.inventory.failing('report', down);
    withLog(run, line('10.0.0.1') + line('10.0.0.2') + line('[fd00::3]'));
    const end = runStep(followHosts, run);
    await run.clock.advance(seconds(1));
    expect(reported(run)).toHaveLength(2);
    await run.clock.advance(seconds(30));
    await run.clock.advance(seconds(4));
    await end;
    expect(reported(run)[2]).toBe('env-m1|m1|Configuring|');
  });

  it('lists the hosts again when a report is refused', async () => {
    const run = setUp();
    run.inventory.failing('report', inventoryFailure('inventory.refused', 'lower stage'));
    run.inventory.answering({
      enabledHosts: () => {
        const risen = run.clock.now() < seconds(30) ? {} : { stage: 'Joined' };
        return Promise.resolve([host('m1', '10.0.0.1', risen)]);
      },
    });
    withLog(run, line('10.0.0.1'));
    const end = runStep(followHosts, run);
    await run.clock.advance(minutes(1));
    await run.clock.advance(seconds(4));
    await end;
    expect(run.inventory.calls).toEqual(['enabledHosts', 'report Configuring', 'enabledHosts']);
  });

  it('lists the hosts again until the service answers', async () => {
    const run = setUp([host('m1', '10.0.0.1')]);
    run.inventory.failing('enabledHosts', down, 3);
    withLog(run, line('10.0.0.1'));
    const end = runStep(followHosts, run);
    await run.clock.advance(minutes(2));
    await run.clock.advance(seconds(4));
    await end;
    expect(run.inventory.calls.filter((call) => call === 'enabledHosts')).toHaveLength(4);
  });

  it('continues when a log temporarily cannot be read', async () => {
    const run = setUp([host('m1', '10.0.0.1')]);
    let reads = 0;
    const unread = hostFailure('file.not-read', 'no');
    const flaky: Host = {
      ...run.host,
      list: (path, signal) => {
        reads += 1;
        return reads === 1 ? Promise.reject(unread) : run.host.list(path, signal);
      },
      readText: (path, signal) => {
        if (reads < 3) return Promise.reject(unread);
        return run.host.readText(path, signal);
      },
      realPath: (path, signal) => {
        reads += 1;
        return run.host.realPath(path, signal);
      },
    };
    withLog(run, line('10.0.0.1'));
    const end = runStep(followHosts, { ...run, host: flaky });
    await run.clock.advance(minutes(5));
    const { notes } = await end;
    expect(notes.some((note) => note.includes('cannot read'))).toBe(true);
  });

  it('finishes at once without other hosts', async () => {
    const run = setUp([host('own', '10.0.0.9')]);
    await runStep(followHosts, run);
    expect(run.inventory.calls).toEqual(['enabledHosts']);
  });
});
