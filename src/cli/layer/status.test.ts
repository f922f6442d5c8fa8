import { describe, expect, it } from 'vitest';
import { configFile } from '../../../test/support/agent-node.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import {
  type LayeredPool,
  masterBuild,
  masterImage,
  masterRendered,
  nodeObject,
  poolObject,
} from '../../../test/layering/layered-pool.ts';
import { rollOutCluster } from '../../../test/layering/roll-out.ts';
import { machineConfigs, machineConfigurations } from '../../cluster/kinds.ts';
import { poolProgress } from '../../layering/roll-out/progress.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { pendingUpdate, readingOf, renderPools, renderPoolsJson } from './status.ts';

const progress = (change: LayeredPool = {}, pool = 'master') =>
  poolProgress(pool, rollOutCluster(change));

const text = (change: LayeredPool = {}, pool = 'master', width = 160): string =>
  renderPools([progress(change, pool)], width);

describe('the text of layer status', () => {
  it('shows all of a pool at rest', () => {
    expect(text().split('\n')).toEqual([
      'pool master',
      '  state             UPDATED',
      '  run by            the Machine Config Operator: Deployment machine-config-controller is there',
      '  MachineOSConfig   pushes to registry.example.com/ocl/master:latest',
      `  MachineOSBuild    ${masterBuild}: Succeeded`,
      `  image             ${masterImage}`,
      `  why this one      MachineOSBuild ${masterBuild} of ${masterRendered}, built in the cluster`,
      `  MachineConfig     ${masterRendered}`,
      '  nodes             2 of 2 run the image',
      '    m1              Done',
      '    m2              Done',
      '',
    ]);
  });

  it('names what does not hold, what each node waits for, and what to do', () => {
    const shown = text({
      node: { currentImage: 'x', desiredImage: 'x' },
      pool: { configuration: { name: masterRendered }, paused: true },
    });
    expect(shown).toContain('pool master (paused)');
    expect(shown).toContain('    m1              Done; waits: the pool is paused; runs x\n');
    expect(shown).toContain('  violation         I1: node m1 currentImage is x, expected');
    expect(shown).toContain(
      '  to do             unpause the pool: oc patch machineconfigpool/master',
    );
  });

  it('calls what does not hold while a pool is rolled out no violation', () => {
    const conditions = { Updated: 'False', Updating: 'True' };
    const node = { currentImage: 'x' };
    const shown = text({ node, conditions });
    expect(shown).toContain('  state             UPDATING\n');
    expect(shown).toContain('  not yet           I1: node m1 currentImage is x, expected');
    expect(shown).not.toContain('violation');
    const degraded = text({ node, conditions: { ...conditions, Degraded: 'True' } });
    expect(degraded).toContain('  state             UPDATING, DEGRADED\n');
    expect(degraded).toContain('  violation         I1: node m1 currentImage is x');
  });

  it.each([80, 160])('keeps to %i columns, but for names that are longer', (width) => {
    const shown = text(
      {
        node: { state: 'Degraded', reason: 'the image cannot be pulled because '.repeat(9).trim() },
        nodes: ['a-node-with-a-long-name.example.com'],
      },
      'master',
      width,
    );
    const long = shown.split('\n').filter((line) => line.length > width);
    // Beside its label such a line has the one name alone.
    expect(long.filter((line) => line.slice(20).includes(' '))).toEqual([]);
    expect(shown).toContain(
      '    a-node-with-a-long-name.example.com\n                    Degraded; the image',
    );
  });

  it('has one line for a pool that is not layered', () => {
    expect(text({}, 'worker')).toBe('pool worker\n  layered           no\n');
  });

  it('shows nodes that are left with an image when the MachineOSConfig is gone', () => {
    const left = poolProgress('master', { ...rollOutCluster(), osConfigs: [] });
    const shown = renderPools([left], 160);
    expect(shown).toContain('MachineOSConfig   none');
    expect(shown).toContain('0 of 2 run the image');
  });

  it('has the same for programs', () => {
    const { pools } = JSON.parse(renderPoolsJson([progress()])) as { pools: object[] };
    expect(pools).toMatchObject([
      {
        ...{ pool: 'master', image: masterImage, violations: [], actions: [] },
        ...{ runner: { by: 'machine-config-operator' }, origin: { build: masterBuild } },
        nodes: [{ name: 'm1', waitsFor: '' }, { name: 'm2' }],
      },
    ]);
  });
});

describe('the update that nodes of a pool wait for', () => {
  const rendered = 'rendered-worker-new';
  const { signal } = new AbortController();
  const configObject = (name: string, spec: object, config: object): KubeObject => ({
    metadata: { name },
    spec: { ...spec, config: { ignition: { version: '3.4.0' }, ...config } },
  });

  interface Change {
    readonly spec?: object;
    readonly config?: object;
    readonly settings?: object;
    /** The MachineConfigs of the nodes; those of others than these cannot be read. */
    readonly old?: Readonly<Record<string, object>>;
    readonly nodes?: readonly string[];
    readonly images?: readonly string[];
    /** When the next build began; empty for one that has not. */
    readonly build?: string;
  }

  /** A pool without an image of its own, whose nodes have these MachineConfigs. */
  async function updateOf({
    spec = {},
    config = {},
    settings,
    old = { a: {} },
    nodes = ['a'],
    images = [],
    build,
  }: Change) {
    const kube = fakeKube();
    kube.put(machineConfigs, configObject(rendered, spec, config));
    for (const [name, one] of Object.entries(old))
      kube.put(machineConfigs, configObject(name, {}, one));
    if (settings !== undefined) kube.put(machineConfigurations, settings as KubeObject);
    const objects = nodes.map((name, index) =>
      nodeObject(`w${index}`, 'worker', { currentConfig: name, currentImage: images[index] }),
    );
    const pools = [poolObject('worker', { configuration: { name: rendered } })];
    const nextBuild =
      build === undefined
        ? undefined
        : { name: 'b', phase: 'not started', since: build, isOver: false, message: '', pod: '' };
    const found = {
      ...poolProgress('worker', { ...rollOutCluster(), pools, nodes: objects }),
      nextBuild,
    };
    const update = await pendingUpdate(readingOf(kube, signal), found, objects);
    const row = renderPools([{ ...found, update }], 300)
      .split('\n')
      .find((line) => line.startsWith('  update'));
    return { update, text: row?.replace(/^ {2}update +/, '') };
  }

  const files = (...paths: readonly string[]) => ({
    storage: { files: paths.map((path) => configFile(path, 'new')) },
  });

  const keys = { passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'] }] } };

  it.each<[why: string, change: Change, text: string]>([
    ['a key', { config: keys }, 'no drain, no reboot'],
    [
      'a file whose policy reloads cri-o, twice',
      { config: files('/etc/containers/policy.json', '/etc/containers/registries.d/a.yaml') },
      'no drain, no reboot: systemctl reload crio.service',
    ],
    [
      'registries that may move an image',
      { config: files('/etc/containers/registries.conf') },
      'drains each node, no reboot (/etc/containers/registries.conf): systemctl reload crio.service',
    ],
    [
      'a file of no policy beside one that has one',
      { config: files('/etc/containers/policy.json', '/etc/a') },
      'drains and reboots each node (/etc/a)',
    ],
    [
      'many files of no policy',
      { config: files('/etc/a', '/etc/b', '/etc/c', '/etc/d', '/etc/e') },
      'drains and reboots each node (/etc/a, /etc/b, /etc/c, 2 more)',
    ],
    [
      'a unit',
      { config: { systemd: { units: [{ name: 'a.service', enabled: true }] } } },
      'drains and reboots each node (a.service)',
    ],
    [
      'kernel arguments, another OS and extensions',
      { spec: { osImageURL: 'x', kernelArguments: ['a=b'], extensions: ['usbguard'] } },
      'drains and reboots each node (osImageURL, kernelArguments, extensions or kernelType)',
    ],
    [
      'a disk',
      { config: { storage: { disks: [{ device: '/dev/sdb', wipeTable: true }] } } },
      'no node takes it: only an installation changes disks, users, links or FIPS',
    ],
    [
      'a file that the policies of the cluster name',
      {
        config: files('/etc/a'),
        settings: {
          metadata: { name: 'cluster', generation: 1 },
          spec: {
            nodeDisruptionPolicy: { files: [{ path: '/etc/a', actions: [{ type: 'None' }] }] },
          },
        },
      },
      'no drain, no reboot',
    ],
    [
      'more for one node than for another',
      { config: files('/etc/a'), old: { a: files('/etc/a'), b: {} }, nodes: ['a', 'b'] },
      'drains and reboots each node (/etc/a)',
    ],
    [
      'the MachineConfig of a node that is gone',
      { old: {} },
      'unknown (there is no MachineConfig a)',
    ],
    [
      'an image besides',
      { config: files('/etc/containers/policy.json'), images: ['r.test/os@sha256:1'] },
      'drains and reboots each node (another OS image)',
    ],
    [
      'a key, while an image is built',
      { config: keys, build: '2026-11-27T00:00:00Z' },
      'drains and reboots each node (another OS image)',
    ],
    [
      'a key, before it is known whether an image is built',
      { config: keys, build: '' },
      'unknown (MachineOSBuild b: not started)',
    ],
    [
      'kernel arguments, before their image is built',
      { spec: { kernelArguments: ['a=b'] }, build: '' },
      'drains and reboots each node (kernelArguments)',
    ],
    [
      'a MachineOSConfig alone, before its image is built',
      { nodes: [rendered], build: '' },
      'drains and reboots each node (another OS image)',
    ],
    [
      'a KubeletConfig and a ContainerRuntimeConfig',
      {
        config: files(
          '/etc/kubernetes/kubelet.conf',
          '/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit',
          '/etc/containers/policy.json',
        ),
      },
      'drains and reboots each node (/etc/kubernetes/kubelet.conf, /etc/crio/crio.conf.d/01-ctrcfg-pidsLimit)',
    ],
  ])('is shown with what it asks of each: %s', async (_, change, text) => {
    expect((await updateOf(change)).text).toBe(text);
  });

  it('is not there where each node has what the pool should have', async () => {
    expect((await updateOf({ nodes: [rendered], config: files('/etc/a') })).update).toBeUndefined();
    expect((await updateOf({ nodes: [] })).update).toBeUndefined();
  });

  it('reads the policies of the cluster once for all pools, and not before one needs them', async () => {
    let reads = 0;
    const kube: Pick<Kube, 'get'> = {
      get: () => {
        reads += 1;
        return Promise.resolve(undefined);
      },
    };
    const at = readingOf(kube, signal);
    expect(reads).toBe(0);
    await Promise.all([at.settings(), at.settings()]);
    expect(reads).toBe(1);
  });
});
