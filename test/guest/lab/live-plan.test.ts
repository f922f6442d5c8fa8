import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clusterSeed, hostSeed } from '../../../mocks/inventory/records.ts';
import { planOfAgent } from '../../../mocks/lab/agent.ts';
import { railOfPlan } from '../../../mocks/lab/page-rail.ts';
import type { Plan } from '../../../src/engine/describe.ts';
import { railSteps } from '../../../src/page/rail.ts';
import { type AgentRun, planOfInstall } from '../install/live-install.ts';

const cluster = clusterSeed();

const run = (isBootstrap: boolean, change: Partial<AgentRun> = {}): AgentRun => ({
  outside: {
    cluster,
    host: hostSeed({
      clusterId: cluster.id,
      infraEnvId: '22222222-2222-4222-8222-222222222222',
      hostname: 'm1',
      role: 'master',
      isBootstrap,
    }),
    token: 'token',
    inventory: { url: 'http://127.0.0.1:1' } as AgentRun['outside']['inventory'],
  },
  settings: { 'image.url': 'http://10.0.2.2:2/image', 'images.self': 'registry.example/agent:1' },
  ...change,
});

const active = (plan: Plan): readonly string[] =>
  railSteps(railOfPlan(plan, ['Configuring']))
    .filter(({ isActive }) => isActive)
    .map(({ id }) => id);

const deploy = resolve(import.meta.dirname, '../../../deploy/host/config');
const finalOs = ['--enable-skip-mco-reboot'];

describe('the rail of a virtual machine has the active steps of its plan', () => {
  it.each<[string, () => Promise<Plan>, { readonly has: string; readonly lacks?: string }]>([
    [
      'a master',
      () => planOfInstall({ runs: [run(false)] }),
      { has: 'image/write', lacks: 'image/overwrite-os' },
    ],
    [
      'one whose final system is written',
      () => planOfInstall({ runs: [run(false), run(false, { words: finalOs })] }),
      { has: 'image/overwrite-os' },
    ],
    [
      'a bootstrap host',
      () => planOfInstall({ runs: [run(true)] }),
      { has: 'cluster/wait-for-masters', lacks: 'image/overwrite-os' },
    ],
    [
      'a worker without a service',
      () => planOfAgent(['--config', `${deploy}/worker.yaml`], {}),
      { has: 'image/write', lacks: 'cluster/wait-for-masters' },
    ],
  ])('%s', async (_, plan, { has, lacks }) => {
    const ids = active(await plan());
    expect(ids).toEqual(expect.arrayContaining(['disk/lock', has, 'finish/leave-host']));
    expect(ids).not.toContain(lacks);
    expect(ids.at(-1)).toBe('stage: Configuring');
  });

  it('but none without an agent', async () => {
    await expect(planOfInstall({ runs: [] })).rejects.toThrow('no agent runs in this guest');
  });
});
