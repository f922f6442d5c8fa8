import { describe, expect, it } from 'vitest';
import { agentNode, configFile, machineConfig } from '../../../test/support/agent-node.ts';
import { changing } from '../../../test/support/applied-node.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { bootcEntry, bootcOutput, imageOf } from '../../../test/support/os-samples.ts';
import { splitLine } from '../../../mocks/host/kernel-arguments.ts';
import {
  deployments,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  nodes,
  pods,
  validatingAdmissionPolicyBindings,
} from '../../kube/kinds.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { Host } from '../../ports/host.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';

type Agent = ReturnType<typeof agentNode>;

const toNext = { desiredConfig: 'c2', desiredImage: imageOf('2') };
const done = { state: 'Done', currentConfig: 'c2', currentImage: imageOf('2') };

describe('the agent of a node', () => {
  it('stages, drains, reboots once and uncordons', async () => {
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

  it('changes only the annotations when two MachineConfigs differ in name only', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode();
    annotate({ desiredConfig: 'c2' });
    await settle(1);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(seen).toMatchObject({ reboots: 0, drains: [] });
    expect(changing(host).filter(([program]) => program === 'rpm-ostree')).toEqual([]);
  });

  it('writes no files before the node is drained', async () => {
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

  it('deploys the previous image again, because its old deployment has an old /etc', async () => {
    const { annotate, annotations, host, settle, world } = agentNode({
      world: { order: ['1', '2'], booted: '1' },
    });
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(world.booted).toBe('2');
    expect(host.ran.filter(([, verb]) => verb === 'rebase')).toHaveLength(1);
    expect(host.ran.filter(([, verb]) => verb === 'rollback')).toEqual([]);
  });

  it('changes from a deleted MachineConfig by its copy on the host', async () => {
    const { annotate, annotations, host, kube, settle } = agentNode({
      old: { files: [configFile('/etc/x', 'old')] },
    });
    const [kept] = kube.objectsOf(machineConfigs).filter(({ metadata }) => metadata.name === 'c1');
    host.withFile('/etc/machine-config-daemon/currentconfig', JSON.stringify(kept));
    host.withFile('/etc/x', 'old');
    kube.drop({ kind: machineConfigs, name: 'c1' });
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(host.textOf('/etc/x')).toBeUndefined();
  });

  it('does not accept the drain of an earlier change to the same MachineConfig', async () => {
    const { annotate, annotations, seen, settle } = agentNode();
    annotate({ lastAppliedDrain: 'drain-c2', desiredDrain: 'drain-c2' });
    seen.isDraining = false;
    annotate(toNext);
    await settle(3);
    expect([annotations().desiredDrain, seen.reboots]).toEqual(['uncordon-c2', 0]);
    seen.isDraining = true;
    await settle();
    expect(annotations()).toMatchObject(done);
  });
});

describe('the kernel arguments of a node', () => {
  const operators = ['systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1="all"', 'psi=0'];
  const spaced = 'dyndbg="file drivers/usb/* +p"';
  /** A node that booted with the arguments of its platform and of its MachineConfig. */
  const started = (old: readonly string[], next: readonly string[], platform = ['p=metal']) =>
    agentNode({
      old: { kernelArguments: old },
      next: { kernelArguments: next },
      world: { order: ['1', '0'], booted: '1', arguments: [...platform, ...old] },
    });

  it.each<[old: string[], next: string[], then: string[], platform?: string[]]>([
    [[], operators, ['p=metal', ...operators]],
    [
      ['hugepagesz=2M', 'hugepages=16'],
      ['hugepagesz=1G', 'hugepages=16'],
      ['p=metal', 'hugepagesz=1G', 'hugepages=16'],
    ],
    // The platform has one of them earlier: the order stays wrong, because the last occurrence
    // counts.
    [['a', 'b'], ['b', 'a'], ['b', 'b', 'a'], ['b']],
    [['a'], ['a='], ['p=metal', 'a=']],
    [['a='], ['a'], ['p=metal', 'a=5', 'a'], ['p=metal', 'a=5']],
    [['u=1 v=2'], [`${spaced} quiet`], ['p=metal', spaced, 'quiet']],
    [[spaced], [], ['p=metal']],
  ])('%j become %j in one call and with one reboot', async (...[old, next, then, platform]) => {
    const { annotate, annotations, host, seen, settle, world } = started(old, next, platform);
    world.arguments = world.arguments?.flatMap((one) => splitLine(one)) ?? [];
    annotate({ desiredConfig: 'c2' });
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([world.arguments, seen.reboots]).toEqual([then, 1]);
    expect(changing(host).filter(([, verb]) => verb === 'kargs')).toHaveLength(1);
    await settle(2);
    expect([world.arguments, seen.reboots]).toEqual([then, 1]);
  });

  it('are set together with an image', async () => {
    const { annotate, annotations, host, settle, world } = started(operators, [...operators, 'a']);
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect([world.booted, world.arguments]).toEqual(['2', ['p=metal', ...operators, 'a']]);
    expect(host.textOf('/proc/cmdline')).toContain(' cgroup_no_v1=all ');
  });

  // The platform has one of them too, which a second change would remove.
  it('are changed once when the agent is killed right after staging them', async () => {
    const { annotate, annotations, host, passes, seen, settle, start, world } = started(
      ['x', 'y'],
      ['y'],
      ['x'],
    );
    annotate({ desiredConfig: 'c2' });
    const stop = new AbortController();
    const exec: Host['exec'] = async (argv, options) => {
      const result = await host.exec(argv, options);
      if (world.stagedArguments !== undefined) stop.abort(new Error('power cut'));
      stop.signal.throwIfAborted();
      return result;
    };
    const ended = start({ host: { ...host, exec }, signal: stop.signal });
    await passes();
    await ended;
    expect([world.stagedArguments, seen.reboots]).toEqual([['x', 'y'], 0]);
    await settle();
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect([world.arguments, seen.reboots]).toEqual([['x', 'y'], 1]);
  });

  it('are unchanged when both MachineConfigs have the same', async () => {
    const { annotate, host, seen, settle } = started(operators, operators);
    annotate({ desiredConfig: 'c2' });
    await settle(2);
    expect([changing(host).filter(([, verb]) => verb === 'kargs'), seen.reboots]).toEqual([[], 0]);
  });

  it('are compared without quotes under bootc', async () => {
    const { annotate, annotations, host, seen, settle } = started(operators, operators);
    host.on(['rpm-ostree', rest]).isMissing();
    host.on(['bootc', rest]).prints(bootcOutput({ booted: bootcEntry('1') }));
    annotate({ desiredConfig: 'c2' });
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Done', currentConfig: 'c2' });
    expect(seen.reboots).toBe(0);
  });
});

describe('the files of a node', () => {
  it('degrade it by name after three reboots that did not keep them', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode({
      next: { files: [configFile('/etc/x', 'new')] },
    });
    seen.atBoot = () => host.withFile('/etc/x', 'by another');
    annotate(toNext);
    await settle(6);
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(annotations().reason).toContain('the host does not keep: /etc/x');
    expect(seen.reboots).toBe(3);
  });

  it('are restored from the image when the MachineConfig drops them', async () => {
    const { annotate, host, settle } = agentNode({
      old: { files: [configFile('/etc/x', 'ours')] },
    });
    host.withFile('/etc/x', 'ours').withFile('/usr/etc/x', 'of the image', 0o440);
    annotate(toNext);
    await settle();
    expect(host.textOf('/etc/x')).toBe('of the image');
    expect(host.files.get('/etc/x')?.mode).toBe(0o440);
    expect([...host.files.keys()].filter((path) => path.includes('.part'))).toEqual([]);
  });
});

describe('a node that cannot reach its desired state', () => {
  it.each<[string, string]>([
    ['os.image-unreachable', 'connection refused'],
    ['os.wrong-architecture', 'no image found in image index for architecture "amd64"'],
  ])(
    'is degraded with %s without a drain, and recovers with the registry',
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

  it('is degraded and gets its files back, without a loop, when it boots the old image', async () => {
    const { annotate, annotations, host, seen, settle, world } = agentNode({
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
    expect(world.order[0]).toBe('1');
  });

  it('continues after a power cut that lost the staged deployment', async () => {
    const { annotate, annotations, seen, settle } = agentNode();
    seen.losesStaged = 1;
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject(done);
    expect(seen.reboots).toBe(2);
  });

  it('reports the error of ostree-finalize-staged and does not reboot again', async () => {
    const { annotate, annotations, host, seen, settle } = agentNode();
    const error = 'Installing kernel: regfile copy: No space left on device';
    host
      .on(['journalctl', '--boot=-1', '--unit=ostree-finalize-staged.service', rest])
      .prints(`Finalizing staged deployment\nerror: ${error}\nFailed with result 'exit-code'.`);
    seen.losesStaged = 3;
    annotate(toNext);
    await settle();
    expect(annotations()).toMatchObject({ state: 'Degraded' });
    expect(annotations().reason).toContain(`ostree-finalize-staged.service said "${error}"`);
    expect(seen.reboots).toBe(1);
  });

  it('refuses a change that needs a new installation', async () => {
    const { annotate, annotations, settle } = agentNode({
      next: { disks: [{ device: '/dev/x' }] },
    });
    annotate(toNext);
    await settle(1);
    expect(annotations().reason).toContain('node-agent.unreconcilable');
  });
});

describe('a node whose desired state is not that of its pool', () => {
  const foreign = { ...machineConfig('foreign', {}), metadata: { name: 'foreign' } };
  it.each<[string, Parameters<Agent['annotate']>[0], (kube: Agent['kube']) => unknown, string]>([
    [
      'an image without a build',
      { ...toNext, desiredImage: imageOf('3') },
      () => undefined,
      'node-agent.not-of-pool',
    ],
    [
      'a MachineConfig of another pool',
      { desiredConfig: 'foreign', desiredImage: imageOf('1') },
      (kube) => kube.put(machineConfigs, foreign),
      'node-agent.not-of-pool',
    ],
    [
      'no pool',
      toNext,
      (kube) => kube.drop({ kind: machineConfigPools, name: 'worker' }),
      'node-agent.not-of-pool',
    ],
    [
      'an agent without the admission policy',
      toNext,
      (kube) =>
        kube.drop({ kind: validatingAdmissionPolicyBindings, name: 'bootwright-node-agent' }),
      'node-agent.unconfined',
    ],
  ])('is degraded, and recovers with a valid state: %s', async (...[, desired, prepare, code]) => {
    const { annotate, annotations, host, kube, seen, settle } = agentNode();
    prepare(kube);
    seen.isDraining = false;
    annotate({ ...desired, lastAppliedDrain: `drain-${desired.desiredConfig}` });
    await settle(2);
    expect(annotations()).toMatchObject({ state: 'Degraded', currentConfig: 'c1' });
    expect(annotations().reason).toContain(code);
    expect([seen.reboots, annotations().desiredDrain]).toEqual([0, undefined]);
    expect(changing(host)).toEqual([]);
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    await settle(1);
    expect(annotations()).toMatchObject({ state: 'Done' });
  });
});

describe('a drained node that a person stops', () => {
  const drained = async () => {
    const node = agentNode({ next: { files: [configFile('/etc/x', 'new')] } });
    node.annotate(toNext);
    node.seen.isDraining = false;
    await node.settle(1);
    node.annotate({ lastAppliedDrain: 'drain-c2' });
    node.seen.isDraining = true;
    return node;
  };

  it('by an uncordon is not changed, and is drained again after a cordon', async () => {
    const { annotations, cordon, host, seen, settle } = await drained();
    await settle(2);
    expect([seen.reboots, host.textOf('/etc/x')]).toEqual([0, undefined]);
    expect(annotations()).toMatchObject({ state: 'Degraded', desiredDrain: 'uncordon-c2' });
    expect(annotations().reason).toContain('node-agent.uncordoned');
    cordon(true);
    await settle(4);
    expect(annotations()).toMatchObject(done);
    expect(seen).toMatchObject({
      reboots: 1,
      drains: ['uncordon-c2', 'drain-c2', 'uncordon-c2'],
    });
  });

  it('by a pause of its pool is neither staged nor rebooted until it is unpaused', async () => {
    const { annotate, annotations, cordon, host, pause, seen, settle } = await drained();
    cordon(true);
    pause(true);
    await settle(2);
    expect([seen.reboots, host.textOf('/etc/x'), annotations().state]).toEqual([
      ...[0, undefined, 'Working'],
    ]);
    pause(false);
    await settle();
    expect(annotations()).toMatchObject(done);
    pause(true);
    const before = changing(host).length;
    annotate({ desiredConfig: 'c1', desiredImage: imageOf('1') });
    await settle(2);
    expect(changing(host).slice(before)).toEqual([]);
  });
});

describe('a node whose object is replaced during a pass', () => {
  it('gets no annotations decided for its predecessor', async () => {
    const { annotate, annotations, kube, passes, start } = agentNode();
    annotate(toNext);
    kube.before('patch', () => {
      kube.drop({ kind: nodes, name: 'w0' }).put(nodes, { metadata: { name: 'w0' } });
    });
    void start();
    await passes();
    expect(annotations()).toEqual({ state: 'Done' });
    const written = kube.writes.map(({ body }) => (body as KubeObject).metadata.annotations);
    expect(written).toEqual([{ [nodeKeys.state]: 'Done' }]);
  });
});

describe('a node whose agent gets API errors', () => {
  it.each(['kube.denied', 'kube.unreachable', 'kube.invalid'] as const)(
    'is not degraded: %s',
    async (code) => {
      const { annotate, annotations, kube, passes, settle, start } = agentNode();
      annotate(toNext);
      const stop = new AbortController();
      const get: typeof kube.get = (ref, signal) =>
        ref.kind === machineConfigs
          ? Promise.reject(kubeFailure(code, 'no'))
          : kube.get(ref, signal);
      const ended = start({ kube: { ...kube, get }, signal: stop.signal });
      await passes();
      expect([annotations().state, annotations().reason]).toEqual(['Done', undefined]);
      stop.abort(new Error('the pod ends'));
      await ended;
      await settle();
      expect(annotations()).toMatchObject(done);
    },
  );
});

describe('a node of the Machine Config Operator', () => {
  const daemon = { kind: 'DaemonSet', name: 'machine-config-daemon' };

  it('is not changed until the pod of machine-config-daemon is gone', async () => {
    const { annotate, annotations, host, kube, putPod, seen, settle } = agentNode();
    putPod('daemon-x', daemon);
    annotate(toNext);
    await settle(1);
    expect([kube.writes, host.ran, seen.reboots]).toEqual([[], [], 0]);
    kube.drop({ kind: pods, namespace: 'openshift-machine-config-operator', name: 'daemon-x' });
    await settle();
    expect(annotations()).toMatchObject(done);
  });

  const builder = { kind: 'ReplicaSet', name: 'machine-os-builder-5c7d' };
  /**
   * Another node takes the name, with all annotations of its predecessor; watches of nodes have not
   * shown it yet.
   */
  const replaceNode = ({ kube }: Agent): void => {
    kube.holdViews();
    const [node] = kube.objectsOf(nodes);
    if (node === undefined) return;
    const { uid: _, ...metadata } = node.metadata;
    kube.drop({ kind: nodes, name: 'w0' }).put(nodes, { ...node, metadata });
  };
  const events = {
    nothing: () => undefined,
    pod: ({ putPod }: Agent) => putPod('daemon-x', daemon),
    builder: ({ putPod }: Agent) => putPod('mob-x', builder),
    desired: ({ annotate }: Agent) => annotate({ desiredConfig: 'c3' }),
    build: ({ kube }: Agent) => kube.drop({ kind: machineOSBuilds, name: 'worker-c2-2' }),
    pool: ({ kube }: Agent) => kube.drop({ kind: machineConfigPools, name: 'worker' }),
    drain: ({ annotate, seen }: Agent) => {
      seen.isDraining = false;
      annotate({ lastAppliedDrain: 'drain-c1' });
    },
    node: replaceNode,
    cordon: ({ cordon }: Agent) => cordon(false),
    pause: ({ pause }: Agent) => pause(true),
  };

  /**
   * Runs an agent with an event right before one of its readings of the node, by number; returns
   * the number of readings until the reboot.
   */
  async function rebooting(event: keyof typeof events, at?: number) {
    const node = agentNode({ next: { files: [configFile('/etc/x', 'new')] } });
    const { annotate, kube, passes, seen, start, stopped } = node;
    annotate(toNext);
    let reads = 0;
    let readsAtBoot = 0;
    seen.atBoot = () => {
      if (seen.reboots === 1) readsAtBoot = reads;
    };
    const get: typeof kube.get = (ref, signal) => {
      if (ref.kind === nodes) reads += 1;
      if (ref.kind === nodes && reads === at) events[event](node);
      return kube.get(ref, signal);
    };
    const ended = start({ kube: { ...kube, get } });
    await passes();
    stopped.abort(new Error('the test ends'));
    await ended;
    return { ...node, readsAtBoot };
  }

  it.each(Object.keys(events).slice(1) as (keyof typeof events)[])(
    'is checked again right before the first write: %s',
    async (event) => {
      const { readsAtBoot } = await rebooting('nothing');
      const { seen, host } = await rebooting(event, readsAtBoot);
      const drains = event === 'cordon' ? ['drain-c2', 'uncordon-c2'] : ['drain-c2'];
      expect(new Set(seen.drains)).toEqual(new Set(drains));
      expect([seen.reboots, host.textOf('/etc/x')]).toEqual([0, undefined]);
    },
  );

  it('is not changed while the operator is deployed, even without a daemon pod', async () => {
    const { annotate, annotations, kube, seen, settle } = agentNode();
    const metadata = {
      name: 'machine-config-controller',
      namespace: 'openshift-machine-config-operator',
    };
    kube.put(deployments, { metadata, spec: { replicas: 1 } });
    annotate(toNext);
    await settle(2);
    expect([kube.writes, seen.reboots]).toEqual([[], 0]);
    kube.put(deployments, { metadata, spec: { replicas: 0 } });
    await settle();
    expect(annotations()).toMatchObject(done);
  });

  const daemonRuns = (node: Agent) => node.putPod('daemon-x', daemon);
  const daemonGoes = ({ kube }: Agent) =>
    kube.drop({ kind: pods, namespace: 'openshift-machine-config-operator', name: 'daemon-x' });
  /** A host without any readable file, the record of a change included. */
  const unreadable = (host: Host): Host => ({
    ...host,
    readText: () => Promise.reject(hostFailure('file.not-read', 'PID 1 cannot be reached')),
  });

  it('is not degraded by its agent while the operator runs it', async () => {
    const node = agentNode();
    const { annotate, annotations, host, kube, passes, start } = node;
    daemonRuns(node);
    annotate(toNext);
    void start({ host: unreadable(host) });
    await passes();
    expect([kube.writes, annotations().state]).toEqual([[], 'Done']);
    daemonGoes(node);
    await passes();
    expect(annotations()).toMatchObject({ state: 'Degraded' });
    expect(annotations().reason).toContain('file.not-read');
  });

  it('is not degraded when the operator returns during the failure', async () => {
    const node = agentNode();
    const { annotate, annotations, host, kube, passes, start } = node;
    annotate(toNext);
    const back = (): Promise<never> => {
      daemonRuns(node);
      return Promise.reject(hostFailure('file.not-read', 'PID 1 cannot be reached'));
    };
    void start({ host: { ...host, readText: back } });
    await passes();
    expect([kube.writes, annotations().state]).toEqual([[], 'Done']);
  });

  it.each([
    ['clears a reason of the agent', 'os.image-unreachable: x', 'Done'],
    ['keeps a reason of machine-config-daemon', 'unexpected on-disk state: x', 'Degraded'],
  ])('keeps only reasons of its operator: %s', async (_, reason, state) => {
    const node = agentNode();
    const { annotate, annotations, settle } = node;
    daemonRuns(node);
    annotate({ state: 'Degraded', reason });
    await settle(1);
    expect(annotations()).toMatchObject({ state });
    expect(annotations().reason).toBe(state === 'Done' ? undefined : reason);
  });
});
