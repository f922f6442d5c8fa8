import { describe, expect, it } from 'vitest';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { planRegistryGrowth } from './copy.ts';

const disk = coreOsDisk('sda');
const facts = { disk: targetOf(disk), media: { isPresent: true } };
const hostWith = (printed = `${20 * 1024 ** 3}\t/mnt/agentdata`) =>
  fakeHost().on(['lsblk', rest]).prints(lsblkOutput(disk)).on(['du', rest]).prints(printed);

describe('registry/plan-growth', () => {
  it('leaves free what neither the disk nor the registry needs', async () => {
    const { value } = await runStep(planRegistryGrowth, { host: hostWith(), facts });
    expect(value).toEqual({ kind: 'grow', freePercent: 42 });
  });

  it('measures nothing without a registry on the medium', async () => {
    const host = fakeHost();
    const media = { isPresent: false };
    const { value } = await runStep(planRegistryGrowth, { host, facts: { ...facts, media } });
    expect(value).toEqual({ kind: 'none' });
    expect(host.ran).toEqual([]);
  });

  it.each([
    ['the disk is too small', hostWith('100000000000\t/'), 'registry.disk-too-small'],
    ['du prints no size', hostWith('du: cannot access'), 'registry.unreadable'],
  ])('fails when %s', async (_what, host, code) => {
    const { failure } = await tryStep(planRegistryGrowth, { host, facts });
    expect(failure).toMatchObject({ code });
  });
});
