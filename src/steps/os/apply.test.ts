import { describe, expect, it } from 'vitest';
import { changing, operatorsNode, rebase } from '../../../test/support/applied-node.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { imageOf, rpmOstreeDeployment, rpmOstreeOutput } from '../../../test/support/os-samples.ts';
import { coreOsNode, inspected, runOnNode } from '../../../test/support/core-os-node.ts';
import { applyImage } from './apply.ts';

describe('node apply', () => {
  it('cleans up and stages the image without a reboot', async () => {
    const { host, world } = coreOsNode();
    const { isRestarted, notes } = await runOnNode(applyImage, host);
    expect(isRestarted).toBe(false);
    expect(changing(host)).toEqual([['rpm-ostree', 'cleanup', '--base'], rebase]);
    expect(world).toMatchObject({ booted: '1', staged: '2' });
    expect(notes).toContain(`info: ${imageOf('2')} boots next`);
  });

  it('does nothing when the image is booted', async () => {
    const { host } = coreOsNode({ order: ['2', '1'], booted: '2' });
    const { isRestarted } = await runOnNode(applyImage, host, { reboots: true });
    expect(isRestarted).toBe(false);
    expect(changing(host)).toEqual([]);
    expect(host.ran.some(([program]) => program === 'skopeo')).toBe(false);
  });

  it('only reboots when the image is already staged', async () => {
    const { host } = coreOsNode({ order: ['2', '1'], booted: '1', staged: '2' });
    await runOnNode(applyImage, host, { reboots: true });
    expect(changing(host)).toEqual([['systemctl', 'reboot']]);
  });

  it.each<[string, (host: FakeHost) => unknown]>([
    ['os.busy', (host) => host.lockedByAnother('bootwright-node')],
    ['os.not-managed', (host) => host.on(['test', '-e', '/run/ostree-booted']).fails(1)],
    ['os.no-driver', (host) => host.on(['rpm-ostree', '--version']).isMissing()],
    ['os.status-not-read', (host) => host.on(['rpm-ostree', 'status', rest]).prints('{')],
    [
      'os.busy',
      (host) =>
        host
          .on(['rpm-ostree', 'status', rest])
          .prints(rpmOstreeOutput([rpmOstreeDeployment('1', { booted: true })], ['x', 'y', 'z'])),
    ],
    [
      'os.image-unreachable',
      (host) => host.on(['skopeo', rest]).fails(1, 'reading manifest 1: manifest unknown'),
    ],
    [
      'os.wrong-architecture',
      (host) => host.on(['skopeo', rest]).prints(inspected('2', { Architecture: 'arm64' })),
    ],
    [
      'os.wrong-architecture',
      (host) =>
        host
          .on(['skopeo', rest])
          .fails(1, 'no image found in image index for architecture "amd64"'),
    ],
    ['os.no-space', (host) => host.on(['df', rest]).prints('Avail\n1000')],
    ['os.not-staged', (host) => host.on(rebase).succeeds()],
  ])('fails with %s and stages nothing', async (code, prepare) => {
    const { host, world } = coreOsNode();
    prepare(host);
    await expect(runOnNode(applyImage, host)).rejects.toMatchObject({ code });
    expect(world.staged).toBeUndefined();
  });

  it('does not replace a deployment that another program staged', async () => {
    const { host } = coreOsNode({ order: ['3', '1'], booted: '1', staged: '3' });
    await expect(runOnNode(applyImage, host)).rejects.toMatchObject({
      code: 'os.staged-by-another',
    });
    expect(changing(host)).toEqual([]);
  });

  it('refuses an image that an ostree remote verifies', async () => {
    const { host } = coreOsNode();
    const reference = `ostree-remote-registry:fedora:${imageOf('1')}`;
    const booted = rpmOstreeDeployment('1', {
      booted: true,
      'container-image-reference': reference,
    });
    host.on(['rpm-ostree', 'status', rest]).prints(rpmOstreeOutput([booted]));
    await expect(runOnNode(applyImage, host)).rejects.toMatchObject({
      code: 'os.signature-unsupported',
    });
  });

  it('continues without skopeo and when the cleanup fails', async () => {
    const { host, world } = coreOsNode();
    host.on(['skopeo', rest]).isMissing().on(['rpm-ostree', 'cleanup', rest]).fails(1);
    const { notes } = await runOnNode(applyImage, host);
    expect(world.staged).toBe('2');
    expect(host.ran.some(([program]) => program === 'df')).toBe(false);
    expect(notes.filter((note) => note.startsWith('warn'))).toHaveLength(2);
  });

  it('warns when the Machine Config Operator manages the node', async () => {
    const { host } = operatorsNode();
    const { notes } = await runOnNode(applyImage, host);
    expect(notes.some((note) => note.startsWith('warn: the Machine Config Operator'))).toBe(true);
  });

  it('links the pull secret of the kubelet for ostree', async () => {
    const { host } = coreOsNode();
    host
      .on(['test', '-e', '/etc/ostree/auth.json'])
      .fails(1)
      .on(['test', '-e', '/var/lib/kubelet/config.json'])
      .succeeds()
      .on(['mkdir', rest])
      .succeeds()
      .on(['ln', rest])
      .succeeds();
    await runOnNode(applyImage, host);
    expect(host.ran).toContainEqual([
      ...['ln', '-sfn', '/var/lib/kubelet/config.json', '/run/ostree/auth.json'],
    ]);
    expect(host.ran.find(([program]) => program === 'skopeo')).toContain(
      '/var/lib/kubelet/config.json',
    );
  });

  it.each<[boots: string[], append: string[], remove: string[], then: string[]]>([
    [['rw'], ['a=1'], [], ['rw', 'a=1']],
    [['rw', 'x', 'x'], [], ['x'], ['rw']],
    [['b', 'rw'], ['a', 'b'], [], ['rw', 'a', 'b']],
    [['n="all"'], ['n="none"'], ['n="all"'], ['n="none"']],
  ])(
    'changes kernel arguments of the booted image once: %j',
    async (...[boots, append, remove, then]) => {
      const { host, world } = coreOsNode({ order: ['2', '1'], booted: '2', arguments: boots });
      const change = { append, remove: [...remove, ...append], everywhere: true };
      await runOnNode(applyImage, host, { kernelArguments: change });
      expect(world).toMatchObject({ order: ['2', '2', '1'], staged: '2', stagedArguments: then });
      expect(changing(host)).toHaveLength(2);
      const { host: again } = coreOsNode(world);
      await runOnNode(applyImage, again, { kernelArguments: change });
      expect(changing(again)).toEqual([]);
    },
  );

  it('changes kernel arguments of the deployment that it has staged', async () => {
    const { host, world } = coreOsNode();
    const append = ['a="1"'];
    const kernelArguments = { append, remove: append, everywhere: true };
    await runOnNode(applyImage, host, { kernelArguments });
    const { host: again } = coreOsNode(world);
    await runOnNode(applyImage, again, { kernelArguments });
    expect(changing(again)).toEqual([]);
    expect(world.stagedArguments).toEqual(['rw', 'ignition.platform.id=metal', 'a="1"']);
    expect(changing(host).at(-1)).toEqual(['rpm-ostree', 'kargs', '--append=a="1"']);
  });

  it('removes kernel arguments of the staged deployment', async () => {
    const staged = { staged: '2', stagedArguments: ['rw', 'x="1"'] };
    const { host, world } = coreOsNode({ order: ['2', '1'], booted: '1', ...staged });
    await runOnNode(applyImage, host, {
      kernelArguments: { append: [], remove: ['x="1"'], everywhere: true },
    });
    expect(world).toMatchObject({ order: ['2', '1'], stagedArguments: ['rw'] });
  });

  it('keeps kernel arguments that already match', async () => {
    const { host } = coreOsNode({ order: ['2', '1'], booted: '2', arguments: ['n="all"', 'rw'] });
    const append = ['n="all"', 'rw'];
    const kernelArguments = { append, remove: ['quiet', ...append], everywhere: true };
    await runOnNode(applyImage, host, { kernelArguments });
    expect(changing(host)).toEqual([]);
  });

  it('upgrades when a tag has moved', async () => {
    const tag = 'registry.example.com/os/node:latest';
    const named = { 'container-image-reference': `ostree-unverified-registry:${tag}` };
    const booted = rpmOstreeDeployment('1', { booted: true, ...named });
    const { host } = coreOsNode();
    host
      .on(['rpm-ostree', 'status', '--json'])
      .prints(rpmOstreeOutput([booted]))
      .on(['rpm-ostree', 'upgrade'])
      .answers(() => {
        const staged = rpmOstreeDeployment('2', { staged: true, ...named });
        host.on(['rpm-ostree', 'status', '--json']).prints(rpmOstreeOutput([staged, booted]));
      });
    await runOnNode(applyImage, host, { image: tag });
    expect(changing(host).at(-1)).toEqual(['rpm-ostree', 'upgrade']);
    const { host: same } = coreOsNode();
    same
      .on(['rpm-ostree', 'status', '--json'])
      .prints(rpmOstreeOutput([booted]))
      .on(['skopeo', rest])
      .prints(inspected('1'));
    await runOnNode(applyImage, same, { image: tag });
    expect(changing(same)).toEqual([]);
  });
});
