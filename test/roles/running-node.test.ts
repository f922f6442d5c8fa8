import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import { restartFromDisk, startFromDisk } from '../../mocks/host/installed-system.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { restartLiveSystem } from '../../mocks/host/live-system.ts';
import { registryNetwork } from '../../mocks/registries/network.ts';
import { applyImage } from '../../src/steps/os/apply.ts';
import type { NodeRequest } from '../../src/steps/os/request.ts';
import { runOnNode } from '../support/core-os-node.ts';
import { briskClock, machineHost } from './machine-host.ts';
import { hostFolder } from './host-folders.ts';

const registry = 'mirror.example';
const imageOf = (digit: string): string => `${registry}/os/node@sha256:${digit.repeat(64)}`;
const [first, second, third] = [imageOf('1'), imageOf('2'), imageOf('3')];
const pullSecret = JSON.stringify({
  auths: { [registry]: { auth: Buffer.from('a:b').toString('base64') } },
});
const record = 'etc/machine-config-daemon/currentimage';

/** A node that was started from its disk with the first image; a registry has both images. */
async function newNode(secret?: string): Promise<Machine> {
  const network = registryNetwork([
    { host: registry, users: [{ credentials: 'a:b', may: 'pull' }] },
  ]);
  for (const image of [first, second]) {
    network.images.set(image, { digest: image.replace(/^.*@/, ''), labels: {} });
  }
  const machine = buildMachine(HostPlan.parse({ name: 'm1' }), hostFolder(), { network });
  await startFromDisk(machine, { image: first, pullSecret: secret });
  return machine;
}

const apply = (machine: Machine, order: Partial<NodeRequest>) => {
  const host = machineHost(machine, { check: () => undefined, moved: () => undefined });
  return runOnNode(applyImage, host, { ...order, clock: briskClock() });
};

const recorded = ({ files }: Machine): string => readFileSync(join(files.root, record), 'utf8');

describe('a simulated node that was started from its disk', () => {
  it('is moved to another image, told of it, and restarted into it', async () => {
    const machine = await newNode(pullSecret);
    await apply(machine, { image: second });
    expect(machine.running).toMatchObject({ booted: first, staged: { image: second } });
    expect(machine.reboot).toBeUndefined();
    await apply(machine, { image: second, records: true });
    expect(recorded(machine)).toBe(second);
    expect(statSync(join(machine.files.root, record)).mode & 0o777).toBe(0o644);
    await apply(machine, { image: second, reboots: true });
    expect(machine.reboot).toEqual({ when: 'now', message: '' });
    await restartFromDisk(machine);
    expect(machine.running).toEqual({
      booted: second,
      kernelArguments: ['ignition.platform.id=metal'],
    });
    expect(machine.reboot).toBeUndefined();
    const { isRestarted } = await apply(machine, { image: second, records: true, reboots: true });
    expect([isRestarted, machine.reboot]).toEqual([false, undefined]);
    expect(machine.unknown).toEqual([]);
  });

  it('has another boot id and no lock after each start', async () => {
    const machine = await newNode();
    machine.locks.add('/run/lock/bootwright-node');
    const one = await restartFromDisk(machine);
    const other = await restartFromDisk(machine);
    const file = join(machine.files.root, 'proc/sys/kernel/random/boot_id');
    expect(readFileSync(file, 'utf8')).toBe(`${other}\n`);
    expect(one).not.toBe(other);
    expect(machine.locks.size).toBe(0);
  });

  it('stages nothing that its registry refuses', async () => {
    const machine = await newNode();
    await expect(apply(machine, { image: second })).rejects.toMatchObject({
      code: 'os.image-unreachable',
    });
    expect(machine.running).toEqual({
      booted: first,
      kernelArguments: ['ignition.platform.id=metal'],
    });
  });

  it('keeps what another has staged', async () => {
    const machine = await newNode(pullSecret);
    const running = { booted: first, staged: { image: third, kernelArguments: [] } };
    machine.running = { ...running, kernelArguments: [] };
    await expect(apply(machine, { image: second })).rejects.toMatchObject({
      code: 'os.staged-by-another',
    });
    expect(machine.running).toMatchObject(running);
  });

  it('runs nothing from its disk once its live system is started again', async () => {
    const machine = await newNode(pullSecret);
    await restartLiveSystem(machine);
    expect(machine.running).toBeUndefined();
    await expect(apply(machine, { image: second })).rejects.toMatchObject({
      code: 'os.not-managed',
    });
    await expect(restartFromDisk(machine)).rejects.toThrow('was not started from its disk');
  });
});
