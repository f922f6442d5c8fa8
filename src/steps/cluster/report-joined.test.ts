import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { runStep, statusesOf } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { minutes } from '../../model/duration.ts';
import { reportMasters } from './report-joined.ts';

const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };
const hosts = [
  inventoryHost({ id: 'id-m1', name: 'm1' }),
  inventoryHost({ id: 'id-m2', name: 'other', addresses: ['10.0.0.2'] }),
];
const both = [
  { name: 'm1', addresses: [] },
  { name: 'm2', addresses: ['10.0.0.2'] },
];
const down = inventoryFailure('inventory.unreachable', 'service is down');

const setUp = (nodes = both, known = hosts) => ({
  config,
  facts: { ready: { nodes } },
  clock: fakeClock({ auto: false }),
  inventory: fakeInventory({ hosts: known }),
});

const reported = ({ reports }: ReturnType<typeof fakeInventory>): readonly string[] =>
  reports.map(({ host: { hostId }, stage }) => `${hostId} ${stage}`);

describe('cluster/report-masters', () => {
  it('reports each master once the service answers again, and says nothing beside the stage', async () => {
    const run = setUp();
    run.inventory.failing('enabledHosts', down, 3).failing('report', down);
    const end = runStep(reportMasters, run);
    await run.clock.advance(minutes(3));
    const { events } = await end;
    expect(reported(run.inventory)).toEqual(['id-m1 Joined', 'id-m2 Joined']);
    expect(statusesOf(events)).toEqual([]);
  });

  it('asks for nothing where each report was taken', async () => {
    const run = setUp([]);
    await runStep(reportMasters, run);
    expect(run.inventory.calls).toEqual([]);
  });

  it('leaves out a host that is installed, and one whose report is refused', async () => {
    const [first = inventoryHost(), second = inventoryHost()] = hosts;
    const run = setUp(both, [{ ...first, status: 'installed' }, second]);
    run.inventory.failing('report', inventoryFailure('inventory.refused', 'lower stage'));
    const { notes } = await runStep(reportMasters, run);
    expect(run.inventory.calls.filter((call) => call.startsWith('report'))).toHaveLength(1);
    expect(notes).toEqual(['warn: could not report stage Joined of m2']);
  });

  it('leaves out a node on no host of the cluster', async () => {
    const run = setUp([{ name: 'stray', addresses: [] }]);
    const { notes } = await runStep(reportMasters, run);
    expect(notes).toEqual(['warn: could not report stage Joined of stray']);
  });

  it('ends with the run', async () => {
    const run = setUp();
    run.inventory.failing('enabledHosts', down, 1000);
    const stop = new AbortController();
    const end = runStep(reportMasters, { ...run, signal: stop.signal });
    await settle();
    stop.abort(new Error('the run has ended'));
    await expect(end).rejects.toThrow('the run has ended');
  });
});
