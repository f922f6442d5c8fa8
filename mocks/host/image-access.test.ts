import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { registryNetwork, type RegistryNetwork } from '../registries/network.ts';
import { buildMachine, HostPlan } from './build-machine.ts';
import { pullImage, pushImage } from './image-access.ts';
import type { Machine } from './machine.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

const held = { digest: `sha256:${'1'.repeat(64)}`, labels: {} };
const secret = { auths: { 'mirror.test': { auth: Buffer.from('a:b').toString('base64') } } };
const settings =
  '[[registry]]\nlocation = "quay.test/os"\n[[registry.mirror]]\nlocation = "mirror.test/os"\n';

function machineIn(network: RegistryNetwork | undefined): Machine {
  const root = mkdtempSync(join(tmpdir(), 'image-access-'));
  roots.push(root);
  mkdirSync(join(root, 'etc/containers'), { recursive: true });
  writeFileSync(join(root, 'etc/containers/registries.conf'), settings);
  const plan = HostPlan.parse({ name: 'b1' });
  const files = { 'root/secret.json': JSON.stringify(secret) };
  return buildMachine(plan, root, { files, network });
}

const open = (): RegistryNetwork =>
  registryNetwork([{ host: 'mirror.test', users: [{ credentials: 'a:b', may: 'pull' }] }]);
const authFile = '/root/secret.json';
const image = 'quay.test/os@sha256:1';

describe('an image that a program of a host asks for', () => {
  it('comes from the mirror of its settings, with the credentials of its file', async () => {
    const network = open();
    network.images.set('mirror.test/os@sha256:1', held);
    expect(await pullImage(machineIn(network), { image, authFile })).toBe(held);
    expect(network.asked).toMatchObject([{ by: 'b1', registry: 'mirror.test' }]);
  });

  it.each([
    ['no place has it', authFile, 'quay.test: no such host'],
    ['its file has no credentials', undefined, 'no such host'],
  ])('does not come when %s', async (_, file, words) => {
    const network = open();
    expect(await pullImage(machineIn(network), { image, authFile: file })).toContain(words);
    expect(network.asked.map(({ registry }) => registry)).toEqual(['mirror.test', 'quay.test']);
  });

  it('goes to a registry that takes it', async () => {
    const network = open();
    const machine = machineIn(network);
    const target = { image: 'mirror.test/ocl/master:x', authFile };
    expect(await pushImage(machine, target, held)).toContain('denied');
    expect(network.images.size).toBe(0);
  });

  it('finds the registry of the host itself when that runs', async () => {
    const network = open();
    const machine = machineIn(network);
    const own = { image: '127.0.0.1:22626/layering/os:x', authFile: undefined };
    expect(await pushImage(machine, own, held)).toContain('connection refused');
    machine.images.isServing = true;
    expect(await pushImage(machine, own, held)).toBeUndefined();
    expect(await pullImage(machine, own)).toBe(held);
    expect(network.asked).toEqual([]);
  });

  it('is at hand where there are no registries to be asked', async () => {
    const machine = machineIn(undefined);
    machine.images.inRegistries.set(image, held);
    expect(await pullImage(machine, { image, authFile: undefined })).toBe(held);
  });
});
