import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { bundlePath } from '../../../scripts/bundle.ts';
import { osImage } from '../../../scripts/parts/scripted.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { startRig } from '../../../scripts/api-server.ts';
import type { PoolProgress } from '../../../src/layering/roll-out/progress.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { type GuestRegistry, startGuestRegistry } from '../install/guest-registry.ts';
import { machineConfig } from '../install/ignition.ts';
import { seenByGuests } from '../install/outside.ts';
import { createAgentDisk } from '../install/prepare.ts';
import { type NodeMachine, startNodeMachine } from './node-machine.ts';
import {
  allowDisruptions,
  handOver,
  pool,
  putKeptPod,
  putNode,
  putOSConfig,
  putPool,
  setReady,
} from './pool-objects.ts';
import { agentAccess } from '../../kube/cluster-access.ts';
import { unpackOsDisk, writeOnBoot } from '../rig/os-disk.ts';
import { putRpmOstree, rpmOstreeFiles } from '../rig/rpm-ostree.ts';
import { type Moment, recordPool, type SeenNode } from './pool-record.ts';

/** How the switch of a pool went. */
export interface RollOut {
  /** The image of the installed nodes, and the one that is rolled out. */
  readonly images: { readonly before: string; readonly after: string };
  /** All that a watch has seen of the nodes. */
  readonly moments: readonly Moment[];
  /** The reports of each machine, one for each start. */
  readonly said: Readonly<Record<string, readonly string[]>>;
  /** `layer status` while the first node could not be drained. */
  readonly held: PoolProgress;
  /** And once the second one had come back with the image before. */
  readonly fellBack: PoolProgress;
  /** The second node, once its pool has the image before again. */
  readonly takenBack: SeenNode | undefined;
}

/**
 * The machines: one that cannot be drained and then dies, and one that boots the system before; they
 * go in this order.
 */
export const [held, back] = ['held', 'back'] as const;
const names = [held, back];

/**
 * Makes the system before the first entry of the boot loader once the new one is it, as a person at
 * the way down might.
 */
const fallBack = `mkdir /run/systemd/system/ostree-finalize-staged.service.d
cat > /run/systemd/system/ostree-finalize-staged.service.d/fall-back.conf <<'END'
[Service]
ExecStop=/bin/sh -c 'ostree admin set-default 1 > /dev/ttyS1 2>&1'
END
systemctl daemon-reload`;

interface Programs {
  readonly folder: string;
  readonly kubeconfig: string;
}

/** Starts `node controller`, which ends with the test. */
function startController({ folder, kubeconfig }: Programs): AsyncDisposable {
  const log = openSync(join(folder, 'controller.log'), 'w');
  const argv = [bundlePath, 'node', 'controller', '--kubeconfig', kubeconfig];
  const wrapped = ['--pdeathsig', 'KILL', '--', process.execPath, ...argv];
  const child = spawn('setpriv', wrapped, { stdio: ['ignore', log, log] });
  closeSync(log);
  const gone = once(child, 'close');
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
    },
  };
}

/** The output of `layer status` for the pool. */
async function layerStatus({ kubeconfig }: Programs): Promise<PoolProgress> {
  const argv = [bundlePath, 'layer', 'status', '--kubeconfig', kubeconfig, '--format', 'json'];
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, argv, (_, stdout) => {
    resolve(stdout);
  });
  const { pools } = JSON.parse(await promise) as { readonly pools: readonly PoolProgress[] };
  const found = pools.find((one) => one.pool === pool);
  if (found === undefined) throw new Error(`layer status does not show pool ${pool}`);
  return found;
}

interface Images {
  readonly before: string;
  readonly after: string;
}

/** Pushes what the disks were made from, and the same with one layer more. */
async function pushImages(registry: GuestRegistry): Promise<Images> {
  const base = join(partFolder(osImage), 'oci');
  const layer = { 'usr/share/labcoreos/layers/second': 0 };
  const second = addLayer(base, registry.work, { tag: 'second', files: layer, ballast: 2 ** 20 });
  const [before, after] = [
    await registry.push(`${base}:base`, 'nodes/labcoreos:1'),
    await registry.push(second, 'nodes/labcoreos:2'),
  ];
  const place = registry.address.replace('127.0.0.1', '10.0.2.2');
  return {
    before: `${place}/nodes/labcoreos@${before}`,
    after: `${place}/nodes/labcoreos@${after}`,
  };
}

const pauseMillis = 250;

/** Asks until there is an answer. */
async function until<T>(signal: AbortSignal, ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await pause(pauseMillis, undefined, { signal });
  }
}

export const waitsFor = ({ nodes }: PoolProgress, node: string): string =>
  nodes.find(({ name }) => name === node)?.waitsFor ?? '';

/**
 * Two machines, each with the agent of its node, on the real API server with the controller of
 * pools. Their pool gets another image: the first node has a pod that must stay and loses its power
 * on the way down, and the second one boots the system before. Then the pool gets the image before
 * again.
 */
export async function rollOutToGuests(folder: string): Promise<RollOut> {
  await using open = new AsyncDisposableStack();
  const over = new AbortController();
  const agentDisk = join(folder, 'agent.raw');
  const [disks] = await Promise.all([createNodeDisks(folder, names), createAgentDisk(agentDisk)]);
  const registry = open.use(await startGuestRegistry(folder));
  const images = await pushImages(registry);
  const rig = open.use(await startRig());
  open.defer(() => {
    over.abort(new Error('the roll-out is over'));
  });
  const { client } = rig;
  const record = recordPool(client, over.signal);
  const programs = { folder, kubeconfig: join(folder, 'admin.kubeconfig') };
  writeFileSync(programs.kubeconfig, rig.kubeconfig);
  await putPool(client, images.before);
  open.use(startController(programs));
  await putOSConfig(client, images.before.split('@')[0] ?? '');
  await handOver(client, 'first', images.before);

  const server = seenByGuests(rig.forwarder.url);
  const machines: Record<string, NodeMachine> = {};
  const start = async (name: string): Promise<void> => {
    const at = names.indexOf(name as (typeof names)[number]);
    const isReady = async (_: string, ready: boolean): Promise<void> => {
      if (record.node(name) === undefined)
        await putNode(client, { name, zone: `zone-${at}`, image: images.before });
      await setReady(client, name, ready);
    };
    const job = {
      script: [
        growRoot,
        putRpmOstree,
        registry.before,
        'cp /job/kubeconfig /tmp/kubeconfig',
        ...(name === back ? [fallBack] : []),
        'export NODE_NAME=$(cat /job/name)',
        'run-agent --env NODE_NAME /usr/bin/installer node agent --kubeconfig /tmp/kubeconfig',
      ].join('\n'),
      files: rpmOstreeFiles,
      texts: { kubeconfig: await agentAccess(rig, name, { server }), name },
    };
    const failed = (reason: unknown): void => {
      over.abort(reason);
    };
    const shape = { name, disk: disks[at] ?? '', agentDisk, job };
    const place = { folder, kubelet: { isReady }, failed };
    machines[name] = open.use(await startNodeMachine(shape, place));
  };
  const machine = (name: string): NodeMachine => {
    const found = machines[name];
    if (found === undefined) throw new Error(`${name} was not started`);
    return found;
  };
  const isOn = (image: string) => (node: SeenNode) =>
    node.state === 'Done' && node.currentImage === image && !node.isCordoned;

  await start(held);
  await start(back);
  await record.until(held, ({ isReady }) => isReady);
  await record.until(back, ({ isReady }) => isReady);
  await putKeptPod(client, 'kept', held);
  await handOver(client, 'second', images.after);
  await record.until(held, ({ isCordoned }) => isCordoned);
  const ofHeld = await until(over.signal, async () => {
    const status = await layerStatus(programs);
    return waitsFor(status, held).startsWith('drain blocked') ? status : undefined;
  });
  await allowDisruptions(client, 'kept', 1);
  await machine(held).waitForLine(/rebooting the host into/);
  await machine(held).powerCut();
  await record.until(held, isOn(images.after));

  await record.until(back, (node) => node.state === 'Degraded' || isOn(images.after)(node));
  if (record.node(back)?.state === 'Done') throw new Error(`${back} did not come back`);
  const fellBack = await layerStatus(programs);
  await handOver(client, 'first', images.before);
  await record.until(back, isOn(images.before));
  await record.until(held, ({ desiredImage }) => desiredImage === images.before);
  return {
    images,
    moments: [...record.moments],
    said: Object.fromEntries(names.map((name) => [name, machine(name).said()])),
    held: ofHeld,
    fellBack,
    takenBack: record.node(back),
  };
}

const run = promisify(execFile);

/** Room for a second system, as an installed disk has it. */
const diskMiB = 2048;

/**
 * Bash that lets the root file system have the partition, which is larger than that of the image.
 */
const growRoot =
  "unshare --mount sh -c 'mount -o remount,rw /sysroot && xfs_growfs /sysroot' > /dev/null";

/** Makes disks of hosts that were installed and never booted, as coreos-installer leaves them. */
async function createNodeDisks(
  folder: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const first = join(folder, 'node.raw');
  await unpackOsDisk(first, diskMiB);
  const growing = run('sfdisk', ['--quiet', '-N', '4', first]);
  growing.child.stdin?.end(', +\n');
  await growing;
  await writeOnBoot(first, '/ignition/config.ign', JSON.stringify(machineConfig()));
  const disks = names.map((name) => join(folder, `${name}.raw`));
  const argv = ['--sparse=always', '--reflink=auto', '--no-target-directory'];
  await Promise.all(disks.map((disk) => run('cp', [...argv, first, disk])));
  await rm(first);
  return disks;
}
