import { describe, expect, it } from 'vitest';
import {
  agentNode,
  bytesFile,
  configFile,
  machineConfig,
} from '../../../test/support/agent-node.ts';
import { changing } from '../../../test/support/applied-node.ts';
import type { NodeWorld } from '../../../test/support/core-os-node.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import { machineConfigs, nodes } from '../../kube/kinds.ts';
import { minutes } from '../../model/duration.ts';
import { wantedHost } from './wanted-host.ts';

const toNext = { desiredConfig: 'c2', desiredImage: imageOf('2') };
const done = { state: 'Done', currentConfig: 'c2', currentImage: imageOf('2') };

describe('a node in its desired state', () => {
  it('is neither read nor changed, even if a file on its host changes', async () => {
    const { annotations, host, kube, passes, start } = agentNode({
      old: { files: [configFile('/etc/x', 'ours')] },
    });
    const asked: string[] = [];
    const get: typeof kube.get = (ref, signal) => {
      asked.push(ref.name);
      return kube.get(ref, signal);
    };
    void start({ kube: { ...kube, get } });
    await passes(3);
    const [reads, ran] = [asked.length, host.ran.length];
    host.withFile('/etc/x', 'by hand');
    await passes(60, minutes(2));
    expect([asked.length, host.ran.length]).toEqual([reads, ran]);
    expect([annotations().state, kube.writes, host.textOf('/etc/x')]).toEqual([
      'Done',
      [],
      'by hand',
    ]);
  });
});

describe('the password of core', () => {
  type Sketch = Parameters<typeof agentNode>[0];

  it.each<[what: string, sketch: Sketch, hash: string]>([
    ['a password', { next: { passwordHash: '$y$new' } }, '$y$new'],
    [
      'another password',
      { old: { passwordHash: '$6$old' }, next: { passwordHash: '$y$new' } },
      '$y$new',
    ],
    ['no password any more', { old: { passwordHash: '$6$old' } }, '*'],
  ])('changes with a drain and a reboot: %s', async (_, sketch, hash) => {
    const { annotate, annotations, host, seen, settle } = agentNode(sketch);
    seen.password = sketch?.old?.passwordHash ?? '*';
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([seen.password, seen.reboots, seen.drains.length]).toEqual([hash, 1, 2]);
    const calls = host.calls.filter(({ argv }) => argv[0] === 'usermod');
    expect(calls.map(({ secrets }) => secrets)).toEqual([[hash]]);
  });

  it('keeps a manual change when the MachineConfig does not change it', async () => {
    const password = { passwordHash: '$y$same' };
    const node = agentNode({ old: password, next: { ...password, keys: ['ssh-ed25519 A'] } });
    node.seen.password = '$y$by hand';
    node.annotate({ desiredConfig: 'c2' });
    await node.settle();
    expect([node.seen.password, node.seen.reboots]).toEqual(['$y$by hand', 1]);
    expect(node.annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
  });

  it('cannot be changed for other users', async () => {
    const node = agentNode();
    const next = machineConfig('c2', {});
    const users = [{ name: 'admin', passwordHash: '$y$x' }];
    next.spec.config.passwd.users = users;
    node.kube.put(machineConfigs, next);
    node.annotate({ desiredConfig: 'c2' });
    await node.settle(1);
    expect(node.annotations().reason).toContain('node-agent.unreconcilable');
  });
});

describe('the bytes of a file', () => {
  it.each<[what: string, before: object, next: object, expected: string]>([
    [
      'of base64',
      bytesFile('/etc/x', '050200fe8001'),
      bytesFile('/etc/x', '050200fd8101'),
      '050200fd8101',
    ],
    [
      'with a byte order mark',
      bytesFile('/etc/x', '61'),
      bytesFile('/etc/x', 'efbbbf61'),
      'efbbbf61',
    ],
  ])('%s are written exactly', async (...[, before, next, expected]) => {
    const { annotate, annotations, host, settle, seen } = agentNode({
      old: { files: [before] },
      next: { files: [next] },
    });
    const { content } = wantedHost(machineConfig('c1', { files: [before] }) as never).files[0]!;
    host.withFile('/etc/x', content);
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(Buffer.from(host.files.get('/etc/x')?.bytes ?? []).toString('hex')).toBe(expected);
    expect(seen.reboots).toBe(1);
  });
});

describe('the units and files of a node', () => {
  const names = ['left.service', 'masked.service', 'os.service', 'text.service', 'kept.service'];

  it('are reverted when the MachineConfig no longer contains them', async () => {
    const { annotate, annotations, host, settle, units } = agentNode({
      old: {
        units: [
          { name: 'left.service', contents: 'A', enabled: true },
          { name: 'masked.service', mask: true },
          { name: 'os.service', enabled: true },
          { name: 'text.service', contents: 'A', enabled: true },
          { name: 'kept.service', contents: 'A', enabled: true },
        ],
      },
      next: {
        units: [
          { name: 'text.service', contents: 'B', enabled: true },
          { name: 'kept.service', contents: 'A', enabled: true },
        ],
      },
    });
    for (const name of names) units.set(name, name === 'masked.service' ? 'masked' : 'enabled');
    for (const name of ['left', 'text', 'kept'])
      host.withFile(`/etc/systemd/system/${name}.service`, 'A');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(names.map((name) => units.get(name))).toEqual([
      ...['disabled', 'disabled', 'disabled', 'enabled', 'enabled'],
    ]);
    expect(host.textOf('/etc/systemd/system/left.service')).toBeUndefined();
    const ran = host.ran.map((argv) => argv.join(' ')).filter((text) => !text.includes('is-en'));
    expect(ran.filter((text) => text.startsWith('systemctl'))).toEqual([
      ...['systemctl preset left.service', 'systemctl unmask masked.service'],
      ...['systemctl preset masked.service', 'systemctl preset os.service'],
      ...['systemctl daemon-reload', 'systemctl reenable text.service', 'systemctl reboot'],
    ]);
  });

  it('are masked in place of an existing unit file', async () => {
    const { annotate, annotations, host, settle, seen, units } = agentNode({
      old: { units: [{ name: 'a.service', contents: 'A', enabled: true }] },
      next: { units: [{ name: 'a.service', contents: 'A', mask: true }] },
    });
    units.set('a.service', 'enabled');
    host.withFile('/etc/systemd/system/a.service', 'A');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect([annotations()['currentConfig'], units.get('a.service'), seen.reboots]).toEqual([
      ...['c2', 'masked', 1],
    ]);
    expect(host.textOf('/etc/systemd/system/a.service')).toBeUndefined();
  });

  it('get the mode of the MachineConfig, even if somebody changed it', async () => {
    const file = configFile('/etc/secret', 'same', 0o600);
    const { annotate, host, settle } = agentNode({
      next: { files: [file, configFile('/etc/x', 'new')] },
    });
    host.withFile('/etc/secret', 'same', 0o644);
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(host.files.get('/etc/secret')?.mode).toBe(0o600);
  });

  it.each(['/etc/kubernetes/kubelet-ca.crt', '/etc/mco/internal-registry-pull-secret.json'])(
    'keep a file that others renew: %s',
    async (renewed) => {
      const { annotate, annotations, host, settle } = agentNode({
        old: { files: [configFile(renewed, 'first'), configFile('/etc/x', 'old')] },
      });
      host.withFile(renewed, 'renewed').withFile('/etc/x', 'old');
      await settle();
      expect(annotations()['state']).toBe('Done');
      annotate({ desiredConfig: 'c2' });
      await settle();
      expect(annotations()['currentConfig']).toBe('c2');
      expect([host.textOf(renewed), host.textOf('/etc/x')]).toEqual(['renewed', undefined]);
    },
  );

  it('get the certificates of a MachineConfig that changes them, renewed or not', async () => {
    const ca = '/etc/kubernetes/kubelet-ca.crt';
    const { annotate, annotations, host, seen, settle } = agentNode({
      old: { files: [configFile(ca, 'first')] },
      next: { files: [configFile(ca, 'second')] },
    });
    host.withFile(ca, 'renewed');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([host.textOf(ca), seen.reboots]).toEqual(['second', 1]);
    host.withFile(ca, 'renewed again');
    await settle(1);
    expect([annotations().state, host.textOf(ca)]).toEqual(['Done', 'renewed again']);
  });

  it.each([
    [{ name: 'nobody' }, 'nobody:0'],
    [{ id: 99 }, '99:0'],
    [{ id: 99, name: '' }, '99:0'],
  ])('get the owner of the MachineConfig: %j', async (user, expected) => {
    const file = { ...configFile('/etc/x', 'same'), user, mode: 0o4755 };
    const { annotate, annotations, host, ownerOf, settle } = agentNode({ next: { files: [file] } });
    host.withFile('/etc/x', 'same');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([ownerOf('/etc/x'), host.files.get('/etc/x')?.mode]).toEqual([expected, 0o4755]);
  });

  it('keep content that Ignition appended to', async () => {
    const appended = { path: '/etc/hosts', append: [{ source: 'data:,10.0.0.1%20a' }] };
    const { annotate, annotations, host, settle } = agentNode({
      old: { files: [appended] },
      next: { files: [appended, configFile('/etc/x', 'new')] },
    });
    host.withFile('/etc/hosts', 'localhost\n10.0.0.1 a');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()['currentConfig']).toBe('c2');
    expect(host.textOf('/etc/hosts')).toContain('localhost');
  });
});

describe('a host that others change too', () => {
  const filesOnly = { next: { files: [configFile('/etc/x', 'new')] } };

  it.each<[string, (world: NodeWorld) => void]>([
    ['staged', (world) => Object.assign(world, { order: ['0', '1'], staged: '0' })],
    ['queued as a rollback', (world) => Object.assign(world, { order: ['0', '1'] })],
  ])('is not rebooted into a deployment that somebody else %s', async (_, change) => {
    const { annotate, annotations, host, seen, settle, world } = agentNode(filesOnly);
    change(world);
    annotate({ desiredConfig: 'c2' });
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(annotations().reason).toContain(`os.staged-by-another: ${imageOf('0')} boots next`);
    expect([seen.reboots, seen.drains, host.textOf('/etc/x')]).toEqual([0, [], undefined]);
    expect(world.order).toEqual(['0', '1']);
    Object.assign(world, { order: ['1', '0'], staged: undefined });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
  });

  it('is not rebooted into an old deployment of the desired image with its old /etc', async () => {
    const { annotate, annotations, seen, settle } = agentNode({
      world: { order: ['2', '1'], booted: '1' },
    });
    annotate(toNext);
    await settle(1);
    expect(annotations().reason).toContain('os.staged-by-another');
    expect(seen.reboots).toBe(0);
  });

  it('is degraded when it boots another image than expected', async () => {
    const { annotate, annotations, seen, settle, world } = agentNode(filesOnly);
    seen.atBoot = () => {
      world.order = ['0', '1'];
    };
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(annotations().reason).toContain(`runs ${imageOf('0')} instead of ${imageOf('1')}`);
    expect(seen.reboots).toBe(1);
  });

  it('keeps a foreign staged deployment when its own change is no longer desired', async () => {
    const { annotate, annotations, seen, settle, world } = agentNode();
    seen.isDraining = false;
    annotate(toNext);
    await settle(1);
    Object.assign(world, { order: ['0', '1'], staged: '0' });
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    seen.isDraining = true;
    await settle(2);
    expect([world.staged, world.order]).toEqual(['0', ['0', '1']]);
    expect(annotations()['currentConfig']).toBe('c1');
  });

  it('gets the desired image when it runs another one than its annotation says', async () => {
    const { annotate, annotations, settle, world } = agentNode({
      ...filesOnly,
      world: { order: ['0', '1'], booted: '0' },
    });
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(world.booted).toBe('1');
  });

  it('refuses an image with a tag', async () => {
    const { annotate, annotations, host, settle } = agentNode();
    annotate({ desiredConfig: 'c2', desiredImage: 'registry.example.com/os/node:latest' });
    await settle(1);
    expect(annotations().reason).toContain('os.bad-image-name');
    expect(changing(host)).toEqual([]);
  });

  it('gets the files of an interrupted change reverted, even if its MachineConfig is gone', async () => {
    const { annotate, annotations, host, kube, seen, settle } = agentNode({
      old: { files: [configFile('/etc/x', 'old')] },
      next: { files: [configFile('/etc/x', 'new'), configFile('/var/lib/y', 'new')] },
    });
    host.withFile('/etc/x', 'old');
    seen.losesStaged = 1;
    seen.atBoot = () => {
      seen.isDraining = false;
      annotate({ lastAppliedDrain: 'none' });
    };
    annotate(toNext);
    await settle(2);
    expect([seen.reboots, host.textOf('/var/lib/y')]).toEqual([1, 'new']);
    kube.drop({ kind: machineConfigs, name: 'c2' });
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    seen.isDraining = true;
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c1' });
    expect([host.textOf('/etc/x'), host.textOf('/var/lib/y')]).toEqual(['old', undefined]);
  });

  it('removes old files by its currentconfig after its node object was recreated', async () => {
    const { annotations, annotate, host, kube, settle } = agentNode({
      old: { files: [configFile('/etc/old', 'old')] },
    });
    host.withFile('/etc/old', 'old');
    const [kept] = kube.objectsOf(machineConfigs).filter(({ metadata }) => metadata.name === 'c1');
    host.withFile('/etc/machine-config-daemon/currentconfig', JSON.stringify(kept));
    kube.drop({ kind: nodes, name: 'w0' });
    await settle(1);
    kube.put(nodes, { metadata: { name: 'w0' } });
    await settle(1);
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(host.textOf('/etc/old')).toBeUndefined();
  });
});
