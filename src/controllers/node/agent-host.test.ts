import { gzipSync } from 'node:zlib';
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
import { machineConfigs, machineConfigurations, nodes } from '../../cluster/kinds.ts';
import { any } from '../../../test/support/fake-host.ts';
import { wantedHost } from './wanted-host.ts';

const toNext = { desiredConfig: 'c2', desiredImage: imageOf('2') };
const done = { state: 'Done', currentConfig: 'c2', currentImage: imageOf('2') };

describe('a node that is looked at', () => {
  // systemd has names of mounts like the first.
  const named = [String.raw`/etc/a\x2db.mount`, '/etc/two\nlines'].map((path) =>
    configFile(path, 'ours'),
  );
  const old = {
    files: [configFile('/etc/x', 'ours'), bytesFile('/etc/bytes', '050200fe8001'), ...named],
    units: [{ name: 'a.service', mask: true }],
  };
  const settled = () => {
    const node = agentNode({
      old: { ...old, kernelArguments: ['rw', 'n="all"'] },
      world: { order: ['1', '0'], booted: '1', arguments: ['rw', 'n="all"'] },
    });
    node.host.withFile('/etc/x', 'ours');
    node.host.withFile(String.raw`/etc/a\x2db.mount`, 'ours').withFile('/etc/two\nlines', 'ours');
    node.host.withFile('/etc/bytes', Buffer.from('050200fe8001', 'hex'));
    node.units.set('a.service', 'masked');
    return node;
  };
  type Node = ReturnType<typeof settled>;

  it('is left alone where it is as it should be, by reading alone', async () => {
    const { host, kube, settle } = settled();
    await settle(1);
    expect([changing(host), kube.writes]).toEqual([[], []]);
    expect(host.ran.filter(([program]) => program === 'systemctl')).toHaveLength(1);
  });

  it.each<[string, (node: Node) => void, (node: Node) => void]>([
    [
      'these differ: /etc/x',
      ({ host }) => host.withFile('/etc/x', 'by hand'),
      ({ host }) => host.withFile('/etc/x', 'ours'),
    ],
    [
      'these differ: /etc/x',
      ({ host }) => host.withFile('/etc/x', 'ours', 0o666),
      ({ host }) => host.withFile('/etc/x', 'ours'),
    ],
    [
      'these differ: a.service',
      ({ units }) => units.set('a.service', 'enabled'),
      ({ units }) => units.set('a.service', 'masked'),
    ],
    [
      'it runs without rw',
      ({ world }) => Object.assign(world, { arguments: ['ro', 'n="all"'] }),
      ({ world }) => Object.assign(world, { arguments: ['rw', 'n="all"'] }),
    ],
    [
      'its kernel arguments are not in the order rw n="all"',
      ({ world }) => Object.assign(world, { arguments: ['n="all"', 'rw'] }),
      ({ world }) => Object.assign(world, { arguments: ['rw', 'n="all"'] }),
    ],
    [
      'these differ: /etc/bytes',
      ({ host }) => host.withFile('/etc/bytes', Buffer.from('050200fd8101', 'hex')),
      ({ host }) => host.withFile('/etc/bytes', Buffer.from('050200fe8001', 'hex')),
    ],
    [
      `it runs ${imageOf('0')} instead of ${imageOf('1')}`,
      ({ world }) => Object.assign(world, { order: ['0', '1'], booted: '0' }),
      ({ world }) => Object.assign(world, { order: ['1', '0'], booted: '1' }),
    ],
  ])('is degraded, and nothing else: %s', async (reason, drift, putBack) => {
    const node = settled();
    const { annotations, host, passes, seen, start, stopped } = node;
    const ended = start();
    await passes(3);
    expect(annotations().state).toBe('Done');
    drift(node);
    await passes(61);
    expect(annotations().reason).toContain(`node-agent.drifted: not as c1 says: ${reason}`);
    expect([annotations().state, changing(host), seen]).toMatchObject([
      ...['Degraded', [], { reboots: 0, drains: [] }],
    ]);
    putBack(node);
    await passes(31);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c1' });
    expect(annotations().reason).toBeUndefined();
    stopped.abort(new Error('the test ends'));
    await ended;
  });
});

describe('a change that needs no reboot', () => {
  const crio = 'systemctl reload crio.service';
  const restarts = (...names: string[]) => names.map((name) => `systemctl restart ${name}.service`);
  const file = (path: string) => ({ files: [configFile(path, 'new')] });
  const policy = (part: object): object => ({
    metadata: { name: 'cluster', generation: 2 },
    spec: { nodeDisruptionPolicy: part },
  });
  const actionsOf = (...types: string[]) => types.map((type) => ({ type }));
  type Sketch = Parameters<typeof agentNode>[0];

  /** Changes a node, and says what it ran and how often it rebooted and was drained. */
  async function changed(sketch: Sketch, settings?: object) {
    const node = agentNode(sketch);
    node.seen.password = sketch?.old?.passwordHash ?? '*';
    if (settings !== undefined) node.kube.put(machineConfigurations, settings as never);
    node.host
      .on(['systemctl', 'reload', any])
      .succeeds()
      .on(['systemctl', 'restart', any])
      .succeeds();
    node.annotate({ desiredConfig: 'c2' });
    await node.settle();
    expect(node.annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(node.host.textOf('/var/lib/bootwright-node-agent.json')).toBeUndefined();
    const ran = node.host.ran.map((argv) => argv.join(' '));
    return {
      ...node,
      ran: ran.filter((text) => /^systemctl (reload|restart|daemon-reload)/.test(text)),
      disrupted: [node.seen.reboots, node.seen.drains.length],
    };
  }

  it.each<[what: string, sketch: Sketch, hash: string]>([
    ['a password', { next: { passwordHash: '$y$new' } }, '$y$new'],
    [
      'another one',
      { old: { passwordHash: '$6$old' }, next: { passwordHash: '$y$new' } },
      '$y$new',
    ],
    ['none any more', { old: { passwordHash: '$6$old' } }, '*'],
  ])('gives core %s', async (_, sketch, hash) => {
    const { disrupted, host, seen } = await changed(sketch);
    expect([seen.password, disrupted]).toEqual([hash, [0, 0]]);
    const calls = host.calls.filter(({ argv }) => argv[0] === 'usermod');
    expect(calls.map(({ secrets }) => secrets)).toEqual([[hash]]);
  });

  it('leaves the password that a person has set where the MachineConfig has no other', async () => {
    const password = { passwordHash: '$y$same' };
    const node = agentNode({ old: password, next: { ...password, keys: ['ssh-ed25519 A'] } });
    node.seen.password = '$y$by hand';
    node.annotate({ desiredConfig: 'c2' });
    await node.settle();
    expect([node.seen.password, node.seen.reboots]).toEqual(['$y$by hand', 0]);
    expect(node.annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
  });

  it.each<[what: string, sketch: Sketch, ran: string[], drains?: number]>([
    ['keys', { next: { keys: ['ssh-ed25519 A'] } }, []],
    ['the pull secret', { next: file('/var/lib/kubelet/config.json') }, []],
    ['that of images', { next: file('/etc/mco/internal-registry-pull-secret.json') }, []],
    [
      'a key of images',
      { next: file('/etc/machine-config-daemon/no-reboot/containers-gpg.pub') },
      [crio],
    ],
    ['a folder', { next: file('/etc/containers/registries.d/a/b.yaml') }, [crio]],
    ['mirrors', { next: file('/etc/containers/registries.conf') }, [crio], 2],
    [
      'authorities',
      { next: file('/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt') },
      restarts('coreos-update-ca-trust', 'crio'),
    ],
    ['one that goes', { old: file('/etc/nmstate/openshift/a.yml') }, []],
  ])('is one of %s', async (...[, sketch, ran, drains = 0]) => {
    const { disrupted, ...node } = await changed(sketch);
    expect([node.ran, disrupted]).toEqual([ran, [0, drains]]);
  });

  it.each<[what: string, sketch: Sketch, settings: object, ran: string[], disrupted: number[]]>([
    [
      'a path',
      { next: file('/etc/x') },
      policy({ files: [{ path: '/etc/x', actions: actionsOf('None') }] }),
      [],
      [0, 0],
    ],
    [
      'a drain',
      { next: file('/etc/x/y') },
      policy({ files: [{ path: '/etc/x', actions: actionsOf('Drain') }] }),
      [],
      [0, 2],
    ],
    [
      'the longest path',
      { next: file('/etc/x/y') },
      policy({
        files: [
          { path: '/etc', actions: actionsOf('Reboot') },
          { path: '/etc/x', actions: [{ type: 'Restart', restart: { serviceName: 'a.service' } }] },
        ],
      }),
      ['systemctl restart a.service'],
      [0, 0],
    ],
    [
      'a unit',
      { next: { units: [{ name: 'a.service', contents: 'A', enabled: true }] } },
      policy({
        units: [
          {
            name: 'a.service',
            actions: [
              { type: 'DaemonReload' },
              { type: 'Reload', reload: { serviceName: 'a.service' } },
            ],
          },
        ],
      }),
      ['systemctl daemon-reload', 'systemctl daemon-reload', 'systemctl reload a.service'],
      [0, 0],
    ],
    [
      'another part of a name',
      { next: file('/etc/xy') },
      policy({ files: [{ path: '/etc/x', actions: actionsOf('None') }] }),
      [],
      [1, 2],
    ],
    [
      'keys that reboot',
      { next: { keys: ['ssh-ed25519 A'] } },
      policy({ sshkey: { actions: actionsOf('Reboot') } }),
      [],
      [1, 2],
    ],
    [
      'what is not known',
      { next: file('/etc/x') },
      policy({ files: [{ path: '/etc/x', actions: actionsOf('Fly') }] }),
      [],
      [1, 2],
    ],
    [
      'one beside another',
      { next: { files: [configFile('/etc/x', 'new'), configFile('/etc/z', 'new')] } },
      policy({ files: [{ path: '/etc/x', actions: actionsOf('None') }] }),
      [],
      [1, 2],
    ],
    [
      'what the operator has merged',
      { next: file('/etc/x') },
      {
        metadata: { name: 'cluster', generation: 2 },
        status: {
          observedGeneration: 2,
          nodeDisruptionPolicyStatus: {
            clusterPolicies: { files: [{ path: '/etc/x', actions: actionsOf('None') }] },
          },
        },
      },
      [],
      [0, 0],
    ],
    [
      'what it has not merged yet',
      { next: file('/etc/x') },
      {
        metadata: { name: 'cluster', generation: 3 },
        status: {
          observedGeneration: 2,
          nodeDisruptionPolicyStatus: {
            clusterPolicies: { files: [{ path: '/etc/x', actions: actionsOf('None') }] },
          },
        },
      },
      [],
      [1, 2],
    ],
  ])('follows the policy of the cluster: %s', async (...[, sketch, settings, ran, disrupted]) => {
    const node = await changed(sketch, settings);
    expect([node.ran, node.disrupted]).toEqual([ran, disrupted]);
  });

  it('reboots where a file beside it was changed by hand', async () => {
    const same = configFile('/etc/same', 'same');
    const { disrupted } = await changed({
      ...{ old: { files: [same] }, next: { files: [same], keys: ['ssh-ed25519 A'] } },
    });
    expect(disrupted).toEqual([1, 2]);
  });

  it('reboots with other kernel arguments', async () => {
    const next = { kernelArguments: ['a=1'], keys: ['ssh-ed25519 A'] };
    expect((await changed({ next })).disrupted).toEqual([1, 2]);
  });

  it('is written again where a service did not take it, and taken back where it is no longer desired', async () => {
    const node = agentNode({
      ...{
        old: file('/etc/containers/policy.json'),
        next: { files: [configFile('/etc/containers/policy.json', 'other')] },
      },
    });
    const { annotate, annotations, host, seen, settle } = node;
    host.withFile('/etc/containers/policy.json', 'new');
    host.on(['systemctl', 'reload', any]).fails(1, 'Job failed');
    annotate({ desiredConfig: 'c2' });
    await settle(1);
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(host.textOf('/etc/containers/policy.json')).toBe('other');
    host.on(['systemctl', 'reload', any]).succeeds();
    annotate({ desiredConfig: 'c1' });
    const before = host.ran.length;
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c1' });
    expect(host.textOf('/etc/containers/policy.json')).toBe('new');
    expect(host.ran.slice(before)).toContainEqual(['systemctl', 'reload', 'crio.service']);
    expect([seen.reboots, seen.drains]).toEqual([0, []]);
  });

  it('is none of another user', async () => {
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
  const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

  it.each<[what: string, before: object, next: object, expected: string]>([
    [
      'of base64',
      bytesFile('/etc/x', '050200fe8001'),
      bytesFile('/etc/x', '050200fd8101'),
      '050200fd8101',
    ],
    [
      'of escapes',
      { ...bytesFile('/etc/x', ''), contents: { source: 'data:,%fe%00' } },
      { ...bytesFile('/etc/x', ''), contents: { source: 'data:,%fd%00' } },
      'fd00',
    ],
    [
      'that were compressed',
      bytesFile('/etc/x', gzipSync(bytes('80')).toString('hex'), { compression: 'gzip' }),
      bytesFile('/etc/x', gzipSync(bytes('81')).toString('hex'), { compression: 'gzip' }),
      '81',
    ],
    [
      'with a mark before them',
      bytesFile('/etc/x', '61'),
      bytesFile('/etc/x', 'efbbbf61'),
      'efbbbf61',
    ],
  ])('%s are written where they alone differ', async (...[, before, next, expected]) => {
    const { annotate, annotations, host, settle, seen } = agentNode({
      ...{ old: { files: [before] }, next: { files: [next] } },
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

  it('follow a MachineConfig that has them no more', async () => {
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

  it('are masked where a file of the unit was, once and for all', async () => {
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

  it('have the mode that the MachineConfig says, whoever changed it', async () => {
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
    'keep what others renew: %s',
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

  it('have the certificates of a MachineConfig that brings others, renewed or not', async () => {
    const ca = '/etc/kubernetes/kubelet-ca.crt';
    const { annotate, annotations, host, seen, settle } = agentNode({
      old: { files: [configFile(ca, 'first')] },
      next: { files: [configFile(ca, 'second')] },
    });
    host.withFile(ca, 'renewed');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([host.textOf(ca), seen.reboots]).toEqual(['second', 0]);
    host.withFile(ca, 'renewed again');
    await settle(1);
    expect([annotations().state, host.textOf(ca)]).toEqual(['Done', 'renewed again']);
  });

  it.each([
    [{ name: 'nobody' }, 'nobody:0'],
    [{ id: 99 }, '99:0'],
    [{ id: 99, name: '' }, '99:0'],
  ])('belong to whom the MachineConfig says, whoever has them: %j', async (user, expected) => {
    const file = { ...configFile('/etc/x', 'same'), user, mode: 0o4755 };
    const { annotate, annotations, host, ownerOf, settle } = agentNode({ next: { files: [file] } });
    host.withFile('/etc/x', 'same');
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([ownerOf('/etc/x'), host.files.get('/etc/x')?.mode]).toEqual([expected, 0o4755]);
    host.withFile('/etc/x', 'same');
    await settle(1);
    expect(annotations().reason).toContain('these differ: /etc/x');
  });

  it('are left where Ignition appended to them, and never emptied', async () => {
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
  ])('is not rebooted into what somebody else %s', async (_, change) => {
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

  it('is not rebooted into an old deployment of the desired image, whose /etc is old too', async () => {
    const { annotate, annotations, seen, settle } = agentNode({
      world: { order: ['2', '1'], booted: '1' },
    });
    annotate(toNext);
    await settle(1);
    expect(annotations().reason).toContain('os.staged-by-another');
    expect(seen.reboots).toBe(0);
  });

  it('is degraded when it comes back with another image than that of its files', async () => {
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

  it('keeps what somebody else staged when its own change is no longer desired', async () => {
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

  it('does not boot a refused image after all, once another is desired', async () => {
    const { annotate, annotations, seen, settle, world } = agentNode();
    seen.refuses = true;
    annotate(toNext);
    await settle();
    expect([world.order[0], annotations().state]).toEqual(['2', 'Degraded']);
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    await settle(2);
    expect([world.order[0], annotations().state]).toEqual(['1', 'Done']);
  });

  it('has the desired image staged where another runs than its annotation says', async () => {
    const { annotate, annotations, settle, world } = agentNode({
      ...filesOnly,
      world: { order: ['0', '1'], booted: '0' },
    });
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(world.booted).toBe('1');
  });

  it('is given no image by a tag, which says nothing of what runs', async () => {
    const { annotate, annotations, host, settle } = agentNode();
    annotate({ desiredConfig: 'c2', desiredImage: 'registry.example.com/os/node:latest' });
    await settle(1);
    expect(annotations().reason).toContain('os.bad-image-name');
    expect(changing(host)).toEqual([]);
  });

  it('has the files of a change taken back that a power cut had stopped, though its config is gone', async () => {
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

  it('leaves the files that its record names when its node object was deleted and made again', async () => {
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
