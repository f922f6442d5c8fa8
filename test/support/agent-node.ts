import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  nodes,
  pods,
  validatingAdmissionPolicyBindings,
} from '../../src/kube/kinds.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { seconds } from '../../src/model/duration.ts';
import type { Host } from '../../src/ports/host.ts';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../src/ports/kube.ts';
import { nodeAgent } from '../../src/controllers/node/agent.ts';
import { runControllers } from '../../src/kube/manager.ts';
import { agentKeys, agentName } from '../../src/controllers/node/manifests.ts';
import { coreOsNode, type NodeWorld } from './core-os-node.ts';
import { fakeClock } from './fake-clock.ts';
import { any, rest } from './fake-host.ts';
import { fakeKube } from './fake-kube.ts';
import { fakeRandom } from './fake-random.ts';
import { imageOf } from './os-samples.ts';

/** Annotations of a node by their short names. */
type Annotations = Readonly<Partial<Record<keyof typeof nodeKeys, string>>>;

/** A file of a MachineConfig. */
export const configFile = (path: string, text: string, mode = 0o644): object => ({
  path,
  mode,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});

/** A file with binary content, given as hexadecimal digits. */
export const bytesFile = (path: string, hex: string, more: object = {}): object => ({
  path,
  mode: 0o644,
  contents: {
    source: `data:;base64,${Buffer.from(hex, 'hex').toString('base64')}`,
    ...more,
  },
});

/** Parts of a rendered MachineConfig that differ between tests. */
interface ConfigSketch {
  readonly files?: readonly object[];
  readonly units?: readonly object[];
  readonly keys?: readonly string[];
  readonly passwordHash?: string;
  readonly kernelArguments?: readonly string[];
  readonly disks?: readonly object[];
}

const coreWith = ({ keys = [], passwordHash }: ConfigSketch): object => ({
  name: 'core',
  sshAuthorizedKeys: keys,
  ...(passwordHash === undefined ? {} : { passwordHash }),
});

/** A rendered MachineConfig. */
export const machineConfig = (name: string, sketch: ConfigSketch) => ({
  metadata: {
    name,
    ownerReferences: [{ kind: 'MachineConfigPool', name: pool }],
  } as KubeObject['metadata'],
  kind: 'MachineConfig',
  spec: {
    osImageURL: imageOf('1'),
    kernelArguments: sketch.kernelArguments ?? [],
    config: {
      ignition: { version: '3.4.0' },
      storage: { files: sketch.files ?? [], disks: sketch.disks ?? [] },
      systemd: { units: sketch.units ?? [] },
      passwd: { users: [coreWith(sketch)] },
    },
  },
});

const name = 'w0';
const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const pool = 'worker';
const labels = { 'node-role.kubernetes.io/worker': '' };

const poolOf = (spec: object): KubeObject => ({
  metadata: { name: pool },
  spec: { nodeSelector: { matchLabels: labels }, ...spec },
});

/** A successful build of the pool. */
const osBuild = (config: string, digit: string): KubeObject => ({
  metadata: { name: `worker-${config}-${digit}` },
  spec: { machineConfig: { name: config }, machineOSConfig: { name: pool } },
  status: {
    digestedImagePushSpec: imageOf(digit),
    conditions: [{ type: 'Succeeded', status: 'True' }],
  },
});

/** Refuses requests that the policy of the agents forbids. */
const confine =
  (patch: Kube['patch']): Kube['patch'] =>
  (ref, change, signal) => {
    const { metadata, ...more } = change.body as KubeObject;
    const { annotations = {}, uid: _, ...others } = metadata;
    const foreign = Object.keys(annotations).filter((key) => !agentKeys.includes(key as never));
    return Object.keys({ ...more, ...others }).length + foreign.length === 0
      ? patch(ref, change, signal)
      : Promise.reject(kubeFailure('kube.denied', foreign.join()));
  };

const bootIdPath = '/proc/sys/kernel/random/boot_id';

/** Starts the agent of a node; its signal ends it. */
export const startAgent = (
  given: Omit<Parameters<typeof nodeAgent>[0], 'emit'> & {
    readonly emit?: Parameters<typeof nodeAgent>[0]['emit'];
    readonly signal: AbortSignal;
  },
): Promise<void> => {
  const scope = { emit: () => undefined, random: fakeRandom(), ...given };
  return runControllers(scope, nodeAgent(scope)).catch(() => undefined);
};

/** A node with its host, its agent, and a controller that drains at once. */
export function agentNode({
  old = {},
  next = {},
  world,
}: {
  readonly old?: ConfigSketch;
  readonly next?: ConfigSketch;
  readonly world?: NodeWorld;
} = {}) {
  const node = coreOsNode(world);
  const { host } = node;
  const kube = fakeKube()
    .put(validatingAdmissionPolicyBindings, { metadata: { name: agentName } })
    .put(machineConfigPools, poolOf({}))
    .put(machineOSBuilds, osBuild('c1', '1'))
    .put(machineOSBuilds, osBuild('c2', '1'))
    .put(machineOSBuilds, osBuild('c2', '2'))
    .put(machineConfigs, machineConfig('c1', old))
    .put(machineConfigs, machineConfig('c2', next))
    .put(nodes, { metadata: { name, labels } });
  const confined = { ...kube, patch: confine(kube.patch) };
  const annotations = (): Annotations => {
    const all = kube.objectsOf(nodes)[0]?.metadata.annotations ?? {};
    return Object.fromEntries(
      Object.entries(nodeKeys).flatMap(([key, long]) =>
        all[long] === undefined ? [] : [[key, all[long]]],
      ),
    );
  };
  const annotate = (change: Annotations): void => {
    const merged = { ...annotations(), ...change };
    const long = Object.fromEntries(
      Object.entries(merged)
        .filter(([, value]) => value !== '')
        .map(([key, value]) => [nodeKeys[key as keyof typeof nodeKeys], value]),
    );
    const spec = kube.objectsOf(nodes)[0]?.['spec'];
    kube.put(nodes, {
      metadata: { name, labels, annotations: long },
      ...(spec === undefined ? {} : { spec }),
    });
  };
  /** Cordons the node, as the controller or a user does. */
  const cordon = (unschedulable: boolean): void => {
    const [node] = kube.objectsOf(nodes);
    if (node !== undefined) kube.put(nodes, { ...node, spec: { unschedulable } });
  };
  const seen = {
    reboots: 0,
    drains: [] as string[],
    /** Hash of core's password. */
    password: '*',
    isDraining: true,
    losesStaged: 0,
    refuses: false,
    /** Whether a pass ends with a reboot. */
    endsPods: false,
    /** Runs while the host boots. */
    atBoot: (): void => undefined,
  };
  const units = new Map<string, string>();
  /** Owner of a file, if it is not root. */
  const owners = new WeakMap<object, string>();
  const boot = (): void => {
    seen.reboots += 1;
    seen.atBoot();
    host.withFile(bootIdPath, `boot-${seen.reboots}\n`);
    const { staged, stagedArguments, order } = node.world;
    node.world.staged = undefined;
    node.world.stagedArguments = undefined;
    if (seen.losesStaged > 0) {
      seen.losesStaged -= 1;
      if (staged !== undefined) node.world.order = order.slice(1);
    } else if (!seen.refuses) {
      node.world.booted = order[0] ?? '';
      if (stagedArguments !== undefined) node.world.arguments = stagedArguments;
    }
    node.starts();
  };
  host
    .withFile(bootIdPath, 'boot-0\n')
    .on(['mkdir', '-p', any])
    .succeeds()
    .on(['chown', rest])
    .answers((argv) => {
      const [owner = '', path = ''] = argv.slice(-2);
      for (const [at, { bytes, mode }] of host.files)
        if (at === path || at.startsWith(`${path}/`)) {
          // Linux clears set-id bits, also for root.
          host.withFile(at, bytes, mode & 0o1777);
          owners.set(host.files.get(at) ?? {}, owner);
        }
    })
    .on(['chmod', any, any])
    .answers(([, mode = '', path = '']) => {
      const file = host.files.get(path);
      if (file === undefined) return { exitCode: 1, stderr: `chmod: cannot access '${path}'` };
      host.withFile(path, file.bytes, Number.parseInt(mode, 8));
      owners.set(host.files.get(path) ?? {}, owners.get(file) ?? 'root:root');
      return undefined;
    })
    .on(['stat', '-L', String.raw`--printf=%a %U:%G %u:%g %n\0`, '--', rest])
    .answers((argv) => {
      const found = argv.slice(4).flatMap((path) => {
        const file = host.files.get(path);
        if (file === undefined) return [];
        return [`${file.mode.toString(8)} ${owners.get(file) ?? 'root:root'} 0:0 ${path}\0`];
      });
      return { stdout: found.join(''), exitCode: found.length === argv.length - 4 ? 0 : 1 };
    })
    .on(['sha256sum', '--zero', '--', rest])
    .answers((argv) => {
      const found = argv.slice(3).flatMap((path) => {
        const file = host.files.get(path);
        return file === undefined ? [] : [`${sumOf(file.bytes)}  ${path}\0`];
      });
      return { stdout: found.join(''), exitCode: found.length === argv.length - 3 ? 0 : 1 };
    })
    .on(['cp', '-a', '--remove-destination', any, any])
    .answers(([, , , from = '', to = '']) => {
      const { bytes, mode } = host.files.get(from) ?? {};
      if (bytes === undefined) return { exitCode: 1, stderr: `cp: cannot stat '${from}'` };
      host.withFile(to, bytes, mode);
      return undefined;
    })
    .on(['mv', '-T', any, any])
    .answers(async ([, , from = '', to = ''], _, { signal }) => {
      const { bytes = '', mode } = host.files.get(from) ?? {};
      host.withFile(to, bytes, mode);
      await host.remove(from, signal);
    })
    .on(['getent', 'shadow', 'core'])
    .answers(() => `core:${seen.password}:20000:0:99999:7:::`)
    .on(['usermod', '-p', any, 'core'])
    .answers(([, , hash = '']) => {
      seen.password = hash;
    })
    .on(['systemctl', 'daemon-reload'])
    .succeeds()
    .on(['systemctl', 'is-enabled', any])
    .answers(([, , unit = '']) => {
      const state = units.get(unit) ?? 'not-found';
      return { stdout: state, exitCode: state === 'enabled' ? 0 : 1 };
    })
    .on(['systemctl', 'reboot'])
    .answers(boot);
  for (const digit of ['1', '2']) {
    const from = `ostree-unverified-registry:${imageOf(digit)}`;
    host.on(['rpm-ostree', 'rebase', '--experimental', from]).answers(() => {
      const { staged, order } = node.world;
      const others = staged === undefined ? order : order.slice(1);
      node.world.order = [digit, ...others.filter((one) => one !== digit)];
      node.world.staged = digit;
    });
  }
  for (const [verb, state] of [
    ['enable', 'enabled'],
    ['reenable', 'enabled'],
    ['preset', 'disabled'],
    ['disable', 'disabled'],
    ['mask', 'masked'],
    ['unmask', 'disabled'],
  ] as const) {
    host.on(['systemctl', verb, any]).answers(([, , unit = '']) => {
      if (verb !== 'unmask' || units.get(unit) === 'masked') units.set(unit, state);
    });
  }
  const drain = (): void => {
    const { desiredDrain = '', lastAppliedDrain = '' } = annotations();
    if (!seen.isDraining || desiredDrain === lastAppliedDrain) return;
    seen.drains.push(desiredDrain);
    cordon(desiredDrain.startsWith('drain-'));
    annotate({ lastAppliedDrain: desiredDrain });
  };
  annotate({ currentConfig: 'c1', currentImage: imageOf('1'), state: 'Done' });
  annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
  const clock = fakeClock({ auto: false });
  const stopped = new AbortController();
  const events: RunEvent[] = [];
  /** Starts the agent; its signal or the end of the test ends it. */
  const start = (
    ports: { readonly host?: Host; readonly kube?: Kube; readonly signal?: AbortSignal } = {},
  ) => {
    if (ports.signal === undefined) onTestFinished(() => stopped.abort(new Error('the test ends')));
    return startAgent({
      kube: ports.kube ?? confined,
      host: ports.host ?? host,
      clock,
      nodeName: name,
      emit: (body) => events.push({ ...body, at: clock.now(), run: 'test' }),
      signal: ports.signal ?? stopped.signal,
    });
  };
  /**
   * Runs the controller and the agent for a while; after a reboot of the host, the kubelet starts
   * the agent again.
   */
  const passes = async (times = 12, every = seconds(10)): Promise<void> => {
    const { reboots } = seen;
    // The reboot of its host ends the pod.
    for (let pass = 0; pass < times && (!seen.endsPods || seen.reboots === reboots); pass += 1) {
      await clock.advance(every);
      drain();
    }
  };
  const ownerOf = (path: string): string => owners.get(host.files.get(path) ?? {}) ?? 'root:root';
  return {
    ...node,
    ownerOf,
    kube,
    clock,
    events,
    seen,
    units,
    annotations,
    annotate,
    cordon,
    pause: (paused: boolean) => kube.put(machineConfigPools, poolOf({ paused })),
    start,
    passes,
    stopped,
    /** Creates a pod on the node. */
    putPod: (podName: string, owner: { readonly kind: string; readonly name: string }) =>
      kube.put(pods, {
        metadata: {
          name: podName,
          namespace: 'openshift-machine-config-operator',
          ownerReferences: [{ controller: true, ...owner }],
        } as never,
        spec: { nodeName: name },
      }),
    /** Runs the agent until the host reboots or for some passes, and again after each reboot. */
    settle: async (runs = 4): Promise<void> => {
      for (let one = 0; one < runs; one += 1) {
        const stop = new AbortController();
        const ended = start({ signal: stop.signal });
        await passes();
        stop.abort(new Error('the pod ends'));
        await ended;
      }
    },
  };
}

/** A node whose next change runs all commands of the agent. */
export function changingNode(): ReturnType<typeof agentNode> {
  const unit = (name: string, more: object) => ({ name: `${name}.service`, ...more });
  const node = agentNode({
    old: {
      files: [
        ...[configFile('/etc/gone', 'a'), configFile('/etc/os', 'ours')],
        ...[configFile('/etc/same', 'same'), configFile('/etc/x', 'old')],
      ],
      units: [
        unit('left', { contents: 'A', enabled: true }),
        unit('unmasked', { mask: true }),
        unit('text', { contents: 'A', enabled: true }),
      ],
      kernelArguments: ['old=1'],
    },
    next: {
      files: [
        ...[configFile('/etc/same', 'same'), configFile('/var/lib/x', 'new')],
        configFile('/etc/x', 'new', 0o600),
      ],
      keys: ['ssh-ed25519 AAAA'],
      passwordHash: '$y$new',
      units: [
        unit('text', { contents: 'B', enabled: true }),
        unit('on', { contents: '[Service]', enabled: true }),
        unit('off', { enabled: false }),
        unit('never', { mask: true }),
      ],
      kernelArguments: ['new=1'],
    },
  });
  const { annotate, host, seen, units, world } = node;
  world.arguments = ['rw', 'old=1'];
  node.starts();
  seen.endsPods = true;
  host.on(['ostree', 'admin', 'status']).succeeds();
  host.withFile('/etc/gone', 'a').withFile('/etc/os', 'ours').withFile('/usr/etc/os', 'of the OS');
  host.withFile('/etc/same', 'same').withFile('/etc/x', 'old');
  for (const name of ['left', 'text']) host.withFile(`/etc/systemd/system/${name}.service`, 'A');
  for (const name of ['left', 'text', 'off']) units.set(`${name}.service`, 'enabled');
  units.set('unmasked.service', 'masked');
  annotate({ desiredConfig: 'c2', desiredImage: imageOf('2') });
  return node;
}
