import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { reportsOf, runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config } from '../../config/schema.ts';
import { minutes } from '../../model/duration.ts';
import { deployToExistingRoot } from './deploy-to-existing-root.ts';

const ignition = { path: '/opt/i.ign', bytes: 1, sha256: '', origin: '', version: '3.2.0' };
const facts = { ignition };
const osImage = 'quay.example/node@sha256:1';
const imageWith = (writerArgs: string[] = []) => ({ image: { existingRoot: osImage, writerArgs } });

const deploy =
  'ostree container image deploy --stateroot install --sysroot / --authfile /root/.docker/config.json --karg $ignition_firstboot --karg ignition.platform.id=metal --image quay.example/node@sha256:1';

const liveRoot = (): FakeHost => {
  const host = fakeHost()
    .on(['mount', rest])
    .succeeds()
    .on(['stat', rest])
    .fails(1, 'No such file or directory')
    .on(['ostree', rest])
    .succeeds()
    .on(['mkdir', '-p', rest])
    .succeeds()
    .on(['cp', rest])
    .succeeds()
    .on(['touch', rest])
    .succeeds()
    .on(['rsync', rest])
    .succeeds();
  return host.on(['ostree', 'admin', 'stateroot-init', 'install']).answers(() => {
    if (host.files.has('/ostree/deploy/install/var/x')) {
      return { exitCode: 1, stderr: 'error: mkdir: File exists' };
    }
    host.withFile('/ostree/deploy/install/var/x', '');
    return {};
  });
};

const ran = (host: FakeHost): string[] => host.ran.map((argv) => argv.join(' '));

describe('image/deploy-to-existing-root', () => {
  it('deploys into a new stateroot and requests a first boot, without an asked network', async () => {
    const host = liveRoot();
    const { value, events } = await runStep(deployToExistingRoot, {
      config: imageWith(['--network-dir', '/etc/bootwright/network/']),
      host,
      facts,
    });
    expect(value).toEqual({ disk: '/sysroot' });
    expect(ran(host)).toEqual([
      'mount /sysroot -o remount,rw',
      'mount /boot -o remount,rw',
      'stat /ostree/repo/refs/heads/coreos/node-image',
      'ostree admin stateroot-init install',
      deploy,
      'ostree admin finalize-staged',
      'mkdir -p /boot/ignition',
      'cp /opt/i.ign /boot/ignition/config.ign',
      'touch /boot/ignition.firstboot',
    ]);
    expect(events[0]).toMatchObject({ stage: 'Writing image to disk', stageInfo: '' });
  });

  it.each([
    [
      'error: Creating importer: failed to invoke method OpenImage: pinging container registry: dial tcp: connect: connection refused',
      'image.registry-unreachable',
    ],
    ['error: something else', 'image.deploy-failed'],
  ])('classifies a failed deployment: %s', async (stderr, code) => {
    const host = liveRoot().on(['ostree', 'container', rest]).fails(1, stderr);
    const { failure } = await tryStep(deployToExistingRoot, { config: imageWith(), host, facts });
    expect(failure).toMatchObject({ code });
  });

  it('deletes an existing ref of the node image', async () => {
    const host = liveRoot().on(['stat', rest]).succeeds();
    await runStep(deployToExistingRoot, { config: imageWith(), host, facts });
    expect(ran(host).slice(3, 5)).toEqual([
      'touch /ostree/repo/tmp/node-image',
      'ostree refs --repo /ostree/repo --delete coreos/node-image',
    ]);
  });

  it.each<[string[]]>([[[]], [['-n']], [['--append-karg', 'a', '--delete-karg', 'c']]])(
    'plans the image and the commands of a run with %j',
    async (writerArgs) => {
      const host = liveRoot()
        .on(['stat', rest])
        .succeeds()
        .on(['rpm-ostree', rest])
        .succeeds()
        .on(['rpm-ostree', 'kargs', '--os=install'])
        .prints('quiet c');
      await runStep(deployToExistingRoot, { config: imageWith(writerArgs), host, facts });
      const config = Config.parse(imageWith(writerArgs));
      expect(deployToExistingRoot.preview?.(config, facts)).toEqual(host.ran);
      expect(deployToExistingRoot.explain?.(config)).toContain(osImage);
    },
  );

  it.each(['-n', '--copy-network'])('copies the network of the host with %s', async (flag) => {
    const host = liveRoot();
    await runStep(deployToExistingRoot, { config: imageWith([flag]), host, facts });
    expect(ran(host).slice(-5, -3)).toEqual([
      'mkdir -p /boot/coreos-firstboot-network',
      'rsync -av /etc/NetworkManager/system-connections/ /boot/coreos-firstboot-network/',
    ]);
  });

  it('copies the keyfiles of --network-dir instead of those of the host', async () => {
    const host = liveRoot();
    const config = imageWith(['--copy-network', '--network-dir', '/etc/bootwright/network/']);
    await runStep(deployToExistingRoot, { config, host, facts });
    expect(ran(host)).toContain(
      'rsync -av /etc/bootwright/network/ /boot/coreos-firstboot-network/',
    );
  });

  it('changes kernel arguments only once when it runs again', async () => {
    let present = 'quiet c';
    const change = 'rpm-ostree kargs --os=install --delete-if-present=c --append=a --append=b';
    const host = liveRoot()
      .withFile('/etc/writer.yaml', 'append-karg: [a]\n')
      .on(['rpm-ostree', 'kargs', '--os=install'])
      .answers(() => present)
      .on(change.split(' '))
      .answers(() => {
        present = 'quiet a b';
      });
    const file = ['--config-file', '/etc/writer.yaml'];
    const writerArgs = [...file, '--append-karg', 'b', '--delete-karg', 'c'];
    const run = { config: imageWith(writerArgs), host, facts };
    await runStep(deployToExistingRoot, run);
    await runStep(deployToExistingRoot, run);
    const commands = ran(host);
    expect(commands.filter((command) => command === change)).toHaveLength(1);
    expect(commands[commands.indexOf(change) + 1]).toBe('ostree admin finalize-staged');
  });

  it('reports every 10 minutes that a long deployment continues', async () => {
    const clock = fakeClock();
    const host = liveRoot();
    host.on(deploy.split(' ')).answers(async (_argv, _host, { signal }) => {
      await clock.sleep(minutes(25), signal);
    });
    const { events } = await runStep(deployToExistingRoot, {
      config: imageWith(),
      host,
      facts,
      clock,
    });
    expect(reportsOf(events, { ladder: 'master', stage: 'Installing' })).toEqual([
      '0: ',
      '10: deploying (9 min)',
      '20: deploying (19 min)',
    ]);
  });
});
