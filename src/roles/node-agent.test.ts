import { describe, expect, it } from 'vitest';
import { agentNode, configFile } from '../../test/support/agent-node.ts';
import { changing } from '../../test/support/applied-node.ts';
import { rest } from '../../test/support/fake-host.ts';
import { imageOf } from '../../test/support/os-samples.ts';
import { pods } from '../cluster/kinds.ts';

const toNext = { desiredConfig: 'c2', desiredImage: imageOf('2') };
const done = { state: 'Done', currentConfig: 'c2', currentImage: imageOf('2') };

describe('the agent of a node', () => {
  it('stages, is drained, reboots once, and is uncordoned', async () => {
    const { annotate, annotations, host, seen, settle, world } = agentNode({
      next: {
        files: [configFile('/var/lib/x', 'new'), configFile('/usr/lib/y', 'in the image')],
        keys: ['ssh-ed25519 AAAA'],
        units: [{ name: 'a.service', contents: '[Service]', enabled: true }],
      },
    });
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(seen).toMatchObject({ reboots: 1, drains: ['drain-c2', 'uncordon-c2'] });
    expect(world.booted).toBe('2');
    expect(host.textOf('/var/lib/x')).toBe('new');
    expect(host.textOf('/usr/lib/y')).toBeUndefined();
    expect(host.textOf('/home/core/.ssh/authorized_keys.d/ignition')).toBe('ssh-ed25519 AAAA\n');
    expect(host.textOf('/etc/machine-config-daemon/currentimage')).toBe(imageOf('2'));
    expect(host.textOf('/var/lib/bootwright-node-agent.json')).toBeUndefined();
  });

  it('changes neither host nor node where only names differ', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode();
    annotate({ desiredConfig: 'c2' });
    await settle(1);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(seen).toMatchObject({ reboots: 0, drains: [] });
    expect(changing(host).filter(([program]) => program === 'rpm-ostree')).toEqual([]);
  });

  it('writes and removes files without an image, and reboots', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode({
      old: { files: [configFile('/etc/gone', 'a'), configFile('/etc/kept', 'b')] },
      next: { files: [configFile('/etc/kept', 'c')] },
    });
    host.withFile('/etc/gone', 'a').withFile('/etc/kept', 'b');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([host.textOf('/etc/gone'), host.textOf('/etc/kept')]).toEqual([undefined, 'c']);
    expect(seen.reboots).toBe(1);
  });

  it('writes nothing before it is drained', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode({
      next: { files: [configFile('/etc/x', 'new')] },
    });
    seen.isDraining = false;
    annotate(toNext);
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Working', desiredDrain: 'drain-c2' });
    expect([seen.reboots, host.textOf('/etc/x')]).toEqual([0, undefined]);
    expect(host.ran.filter(([, verb]) => verb === 'rebase')).toHaveLength(1);
  });

  it('goes back to the deployment before without its registry', async () => {
    const { annotate, annotations, host, settle, world } = agentNode({
      world: { order: ['1', '2'], booted: '1' },
    });
    host.on(['skopeo', rest]).fails(1, 'connection refused');
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(world.booted).toBe('2');
    expect(host.ran.filter(([, verb]) => verb === 'rebase')).toEqual([]);
  });

  it('takes back what was begun when the old one is desired again', async () => {
    const { annotate, annotations, seen, settle, world } = agentNode();
    seen.isDraining = false;
    annotate(toNext);
    await settle(1);
    expect(world.staged).toBe('2');
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    seen.isDraining = true;
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c1' });
    expect([world.staged, seen.reboots]).toEqual([undefined, 0]);
  });
});

describe('a node that cannot get there', () => {
  it.each<[string, string]>([
    ['os.image-unreachable', 'connection refused'],
    ['os.wrong-architecture', 'no image found in image index for architecture "amd64"'],
  ])(
    'is degraded with %s, never drained, and healed by a registry that comes back',
    async (code, stderr) => {
      const { annotate, annotations, host, seen, settle } = agentNode();
      host.on(['skopeo', rest]).fails(1, stderr);
      annotate(toNext);
      await settle(1);
      expect(annotations()).toMatchObject({ state: 'Degraded' });
      expect(annotations().reason).toContain(code);
      expect(host.ran.filter(([program]) => program === 'skopeo').length).toBeLessThan(6);
      expect(seen).toMatchObject({ reboots: 0, drains: [] });
      host.on(['skopeo', rest]).isMissing();
      await settle();
      expect(annotations()).toMatchObject(done);
    },
  );

  it('comes back with the old image: is degraded, has its files back, and does not loop', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode({
      old: { files: [configFile('/etc/x', 'old')] },
      next: { files: [configFile('/etc/x', 'new')] },
    });
    host.withFile('/etc/x', 'old');
    seen.refuses = true;
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(annotations().reason).toContain(imageOf('1'));
    expect(annotations().reason).toContain(imageOf('2'));
    expect([seen.reboots, host.textOf('/etc/x')]).toEqual([1, 'old']);
    seen.refuses = false;
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Done' });
  });

  it('goes on after a power cut that lost what was staged', async () => {
    const { annotate, annotations, seen, settle } = agentNode();
    seen.losesStaged = 1;
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(seen.reboots).toBe(2);
  });

  it('refuses what only an installation can change', async () => {
    const { annotate, annotations, settle } = agentNode({
      next: { disks: [{ device: '/dev/x' }] },
    });
    annotate(toNext);
    await settle(1);
    expect(annotations().reason).toContain('node-agent.unreconcilable');
  });
});

describe('a node of the Machine Config Operator', () => {
  const daemon = { kind: 'DaemonSet', name: 'machine-config-daemon' };

  it('is left alone until the pod of the daemon has gone', async () => {
    const { annotate, annotations, kube, putPod, seen, settle } = agentNode();
    putPod('daemon-x', daemon);
    annotate(toNext);
    await settle(1);
    expect([kube.writes, seen.reboots]).toEqual([[], 0]);
    kube.drop({ kind: pods, namespace: 'openshift-machine-config-operator', name: 'daemon-x' });
    await settle();
    expect(annotations()).toMatchObject(done);
  });

  it('is not told by the name of a pod', async () => {
    const { annotate, annotations, putPod, settle } = agentNode();
    putPod('machine-config-daemon-x', { kind: 'DaemonSet', name: 'other' });
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
  });
});
