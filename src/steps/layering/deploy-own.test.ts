import { describe, expect, it } from 'vitest';
import { publishedFor } from '../../../test/layering/lane-facts.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { coreOsDisk, deployableHost, targetOf } from '../../../test/support/disk-samples.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import { deployOwn } from './deploy-image.ts';

const digest = `sha256:${'d'.repeat(64)}`;
const address = '192.0.2.5:22626';
const final = `registry.example/ocl/master@${digest}`;
const staged = `${address}/ocl/master@${digest}`;
const rendered = `rendered-master-${'0'.repeat(32)}`;
const file = `/etc/mcs/bootstrap/machine-configs/${rendered}.yaml`;
const machineConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: ${rendered}
spec:
  osImageURL: ${final}
  kernelArguments: [nosmt]
  config: {ignition: {version: 3.5.0}}
`;
const sda = coreOsDisk('sda');
const originOf = (image: string): string =>
  `[origin]\ncontainer-image-reference=ostree-unverified-registry:${image}\n`;

const hostWith = (origins = originOf(final)): FakeHost =>
  deployableHost(sda).on(['find', rest]).prints(origins).withFile(file, machineConfig);

const published = publishedFor(['master'], { rendered, file, staged, digest, final });
const registry = {
  kind: 'running',
  address,
  certificates: '/certificates',
  authFile: '/auth.json',
} as const;

const settings = (host: FakeHost, differs: object = {}) => ({
  config: {
    role: 'bootstrap' as const,
    layering: { mode: 'on' as const },
  },
  host,
  clock: fakeClock(),
  facts: {
    disk: targetOf(sda),
    written: { disk: '/dev/sda' },
    registry,
    published,
    ...differs,
  },
});

const commandsOf = (host: FakeHost): readonly string[] => host.ran.map((argv) => argv.join(' '));

describe('layering/deploy-own', () => {
  it('does not freeze the file system that the registry writes to', async () => {
    const host = hostWith();
    await tryStep(deployOwn, settings(host));
    expect(commandsOf(host)).not.toContain('fsfreeze --freeze /mnt');
    expect(commandsOf(host).slice(-2)).toEqual(['sync --file-system /mnt', 'umount /mnt']);
  });

  it.each([
    ['the registry of this host', originOf(staged)],
    ['nothing', '[origin]\nrefspec=rhcos/x86_64/stable\n'],
  ])('never leaves a disk that follows %s', async (_, origins) => {
    const host = hostWith(origins);
    const { failure } = await tryStep(deployOwn, settings(host));
    expect(failure).toMatchObject({ code: 'image.wrong-origin' });
    expect(commandsOf(host).slice(-2)).toEqual(['umount /mnt/boot', 'umount /mnt']);
  });

  it('fails when the first boot could not do it either', async () => {
    const host = hostWith();
    host.on(['ostree', rest]).fails(1, 'Writing content object: No space left on device');
    const { failure } = await tryStep(deployOwn, settings(host));
    expect(failure).toMatchObject({ code: 'image.no-room' });
  });
});
