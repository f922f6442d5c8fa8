import { describe, expect, it } from 'vitest';
import { readScenario } from '../scenario.ts';
import { guestPlan } from './plan.ts';

const planOf = async (name: string): Promise<ReturnType<typeof guestPlan>> =>
  guestPlan(name, await readScenario(name));

describe('a scenario in virtual machines', () => {
  it.each([
    ['cluster', 'cluster', ['b1', 'm1', 'm2']],
    ['api-moves', 'cluster', ['b1', 'm1', 'm2']],
    ['one-master', 'one master', ['m1']],
  ] as const)('%s is %s of %j', async (name, kind, hosts) => {
    const plan = await planOf(name);
    expect(plan.kind).toBe(kind);
    expect(plan.scenario.hosts.map((host) => host.name)).toEqual(hosts);
  });

  it('builds no operating systems, and expects none', async () => {
    const { scenario } = await planOf('cluster');
    expect(scenario.layering).toBeUndefined();
    expect(scenario.expect.hosts['b1']).toMatchObject({ boots: 1, system: undefined });
  });

  it.each([
    ...['crash-everywhere', 'flaky-service', 'wrong-digest', 'power-loss', 'single-node'],
    ...['build-fails', 'registry-dies'],
  ])('%s is refused', async (name) => {
    await expect(planOf(name)).rejects.toThrow(`${name} cannot be played in virtual machines`);
  });
});
