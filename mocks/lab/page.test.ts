import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clusterSeed } from '../inventory/records.ts';
import { inventoryStore } from '../inventory/store.ts';
import { openLabPage, stateOf } from './page.ts';
import type { ShownRun } from './shown-run.ts';

it('shows the command that reads the logs of a host, and that the API server has ended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-page-'));
  const file = join(folder, 'run.html');
  try {
    await using page = await openLabPage({ title: 't', about: '' }, { isServed: false, file });
    const run: ShownRun = {
      name: 'made-up',
      lab: { inventory: { store: inventoryStore({ cluster: clusterSeed(), hosts: [] }) } },
      hosts: [
        {
          plan: { name: 'm1', role: 'master' },
          hostId: 'h',
          outcome: 'failed',
          phase: '',
          boots: 0,
          endedAt: 1,
          events: [],
          steps: {},
          failure: { code: 'disk.busy', message: 'in use', logs: '/tmp/b.tar.gz' },
        },
      ],
      logs: {
        ofHost: (bundle) => `scripts/bootwright logs read ${bundle}`,
        ofController: 'tar -xzOf /tmp/c.tar.gz',
      },
      startedAt: 0,
    };
    page.watch(run)();
    await page.end({
      outcome: 'installed',
      clusterStatus: 'error',
      operators: [{ name: 'console', status: 'failed', info: 'no route' }],
      isAsExpected: true,
      differences: [],
    });
    const saved = await readFile(file, 'utf8');
    expect(saved).toContain('logs: scripts/bootwright logs read /tmp/b.tar.gz');
    expect(saved).toContain(
      'all hosts are nodes, but the installation failed: console is degraded',
    );
    expect(saved).toMatch(/<p class="none">the API server of the lab has ended/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('says of a pool without machines, and of a MachineConfig, what is known', () => {
  const metadata = { name: 'master' };
  const pool = { metadata, status: { machineCount: 0, updatedMachineCount: 0 } };
  expect(stateOf('MachineConfigPool', pool).state).toBe('no machines yet');
  const updated = { metadata, status: { machineCount: 2, updatedMachineCount: 1 } };
  expect(stateOf('MachineConfigPool', updated).state).toBe('1 of 2 updated');
  expect(stateOf('MachineConfig', { metadata }).state).toBe('exists');
});
