// usage: lab-run.ts SECONDS
// Shows a made-up run of the lab as scripts/lab does, and ends by itself.
import { noProgress } from '../../../mocks/lab/host-progress.ts';
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { reportOf } from '../../../mocks/lab/report.ts';
import { showRun } from '../../../mocks/lab/show.ts';
import type { ShownHost } from '../../../mocks/lab/shown-run.ts';
import { clusterSeed, hostSeed } from '../../../mocks/inventory/records.ts';
import { inventoryStore } from '../../../mocks/inventory/store.ts';

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };

const millis = Number(process.argv[2]) * 1000;
const turnMillis = 50;
const ids = { infraEnvId: 'i', clusterId: 'c' };
const names = ['bootstrap-0', 'm1', 'w1'];
const store = inventoryStore({
  cluster: clusterSeed({ controlPlaneCount: 3 }),
  hosts: names.map((hostname) => ({
    ...hostSeed({ ...ids, id: hostname, hostname, role: 'master', stage: 'Writing image to disk' }),
  })),
});
const hosts = names.map((name): Changing<ShownHost> => ({
  hostId: name,
  phase: '',
  outcome: undefined,
  failure: undefined,
  boots: 0,
  endedAt: undefined,
  events: [],
  plan: { name, role: name === 'w1' ? 'worker' : 'master' },
  progress: noProgress,
}));

const heading = { title: 'Made up', about: 'No host is installed.' };
process.exitCode = await showRun({ keeps: false } as LabOptions, heading, async ({ watch }) => {
  const startedAt = Date.now();
  const end = watch({
    name: 'made-up',
    lab: { inventory: { store } },
    hosts,
    startedAt,
    folder: '/nonexistent',
    beside: () => 'building the image of pool master',
  });
  for (let passed = 0; passed < millis; passed += turnMillis) {
    for (const host of hosts) {
      const doing = 'Write the operating system to the install disk';
      const percent = Math.floor((passed * 100) / millis);
      host.progress = { ...noProgress, doing, percent, remaining: millis - passed };
    }
    await new Promise((resolve) => setTimeout(resolve, turnMillis));
  }
  for (const host of hosts)
    Object.assign(host, { outcome: 'done', boots: 1, progress: noProgress });
  store.setCluster({ ...store.cluster(), status: 'installed' });
  end();
  return reportOf({
    name: 'made-up',
    startedAt,
    differences: [],
    inventory: { store, requests: [] },
    hosts: names.map((name) => ({
      name,
      role: 'master',
      outcome: 'done' as const,
      stage: 'Done',
      boots: 1,
      agentStarts: 1,
      seconds: millis / 1000,
      steps: [{ step: 'image/write', seconds: millis / 1000 }],
      waited: [{ step: 's', for: 'two masters are ready', seconds: 0.7 }],
      writes: 1,
      commands: 1,
      unknownCommands: [],
    })),
  });
});
