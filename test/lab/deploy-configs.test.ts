import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { simulateBootstrapInPlace } from '../../mocks/cluster/no-cluster.ts';
import { Pace } from '../../mocks/cluster/cluster-state.ts';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import { decideBoot, ignitionOnDisk } from '../../mocks/host/installed-system.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { placeStandIn, serveHost } from '../../mocks/host/socket-server.ts';
import { type MockServer, startMockServer } from '../../mocks/http/mock-server.ts';
import { bootstrapIgnition, clusterFile } from '../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import { inventoryStore } from '../../mocks/inventory/store.ts';
import { followEvents, startAgent } from '../../mocks/lab/agent.ts';
import { startCluster, startUnreachable } from '../../mocks/lab/start-cluster.ts';
import { startObjectStore } from '../../mocks/objects/server.ts';
import { bundlePath, ensureBundle } from '../../scripts/bundle.ts';
import { kubeParts } from '../../scripts/api-server.ts';
import { parseConfig } from '../../src/ignition/parse.ts';
import { listen, openDoor, pair } from './network-site.ts';

// The files of deploy/host/config for roles that no virtual machine starts with: each is the
// configuration of a simulated host, in a network with the addresses that it names. Only the disk
// is another one.

const configs = resolve(import.meta.dirname, '../../deploy/host/config');
const seed = clusterSeed();
const store = inventoryStore({ cluster: seed, hosts: [] });
const pointer = (role: string): string => clusterFile(store, `${role}.ign`) ?? '';

/** How a run of the program ended. */
interface AgentRun {
  readonly exitCode: number | undefined;
  readonly outcomes: readonly string[];
  readonly log: string;
}

/**
 * A live host with the program in a container, and one of the files as its configuration; it ends
 * with the test.
 */
interface Site {
  /** The file, with the disk of this host. */
  readonly text: string;
  readonly machine: Machine;
  /** Everything of the host. */
  readonly folder: string;
}

async function openSite(name: string, sizeGiB = 120): Promise<Site> {
  const wwn = '0x5000c500a0b1c2d3';
  const file = readFileSync(join(configs, `${name}.yaml`), 'utf8');
  const text = file.replace('YOUR-DISK', `wwn-${wwn}`);
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (path: string): string => join(folder, path);
  const plan = HostPlan.parse({
    name: 'b1',
    disks: [{ name: 'sda' }, { name: 'sdb', sizeGiB, wwn }],
    write: { seconds: 0.5, lineMillis: 50, flushSeconds: 0 },
  });
  const machine = buildMachine(plan, at('root'));
  const host = await serveHost(machine, at('socket'));
  onTestFinished(host.close);
  await placeStandIn(at('bin'), at('socket'));
  // Files of the live host that this machine lacks: its configuration, and the container file of
  // podman.
  for (const [path, content] of [
    ['etc/bootwright/config.yaml', text],
    ['run/.containerenv', 'image="registry.example/bootwright:latest"\n'],
  ] as const) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  }
  return { text, machine, folder };
}

/**
 * Runs the program as `bootwright.container` does, where servers are at the addresses of the file.
 */
async function install(
  { folder }: Site,
  servers: Readonly<Record<string, string>>,
): Promise<AgentRun> {
  const at = (path: string): string => join(folder, path);
  const doors = Object.entries(servers).map(([address, url], index) => {
    const server = createServer((client) => {
      pair(client, connect(Number(new URL(url).port), '127.0.0.1'));
    });
    onTestFinished(() => void server.close());
    return { server, socket: at(`door-${index}`), address };
  });
  for (const { server, socket } of doors) await listen(server, socket);
  const door = await openDoor(
    doors.map(({ address, socket }) => `${address}=${socket}`),
    ['etc', 'run'].map((top) => `mount -t overlay o -o lowerdir=${at(top)}:/${top} /${top}`),
  );
  onTestFinished(() => void door.stop());
  const spaces = `/proc/${door.pid}/ns`;
  const agent = startAgent({
    enter: ['/usr/bin/nsenter', `--net=${spaces}/net`, `--mount=${spaces}/mnt`, '--'],
    bundle: bundlePath,
    args: ['install'],
    env: {
      PATH: `${at('bin')}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      BOOTWRIGHT_HOST_ROOT: at('root'),
      BOOTWRIGHT_LOG_EVENTS: at('events.jsonl'),
    },
    logFile: at('agent.log'),
  });
  onTestFinished(agent.kill);
  const { exitCode } = await agent.ended;
  const outcomes: string[] = [];
  followEvents(at('events.jsonl'), (event) => {
    if (event.type === 'run.finished') outcomes.push(event.outcome);
  }).end();
  return { exitCode, outcomes, log: readFileSync(at('agent.log'), 'utf8') };
}

/** A web server with these files, by path. */
async function startWeb(files: Readonly<Record<string, string>>): Promise<MockServer> {
  const server = await startMockServer({
    answer: ({ url }) => {
      const content = files[new URL(url).pathname];
      return new Response(content ?? '', { status: content === undefined ? 404 : 200 });
    },
  });
  onTestFinished(server.close);
  return server;
}

/** An object store that anybody may read, with these objects in the bucket of the files. */
async function startBucket(files: Readonly<Record<string, string>>): Promise<MockServer> {
  const server = await startObjectStore();
  onTestFinished(server.close);
  for (const [key, content] of Object.entries(files)) server.put('ignition', key, content);
  return server;
}

/** The run completed its plan, and the disk of the file boots next. */
function expectInstalled({ machine }: Site, { log, ...end }: AgentRun): void {
  expect(end, log).toEqual({ exitCode: 0, outcomes: ['left the host'] });
  expect(machine.unknown).toEqual([]);
  expect(machine.reboot).toBeDefined();
  expect(decideBoot(machine)).toEqual({ kind: 'installed', disk: 'sdb' });
}

/** These files were requested once each, and the comments of the configuration name them. */
function expectAsked({ text }: Site, { requests }: MockServer, paths: readonly string[]): void {
  const asked = requests.map(({ path, status }) => `${path.replace(/\?.*/, '')} ${status}`);
  expect(asked).toEqual(paths.map((path) => `${path} 200`));
  for (const path of paths) expect(text).toContain(path.replace(/^\/(ignition\/)?/, ''));
}

beforeAll(async () => {
  await ensureBundle(() => undefined);
});

describe('deploy/host/config', () => {
  it('arbiter.yaml installs an arbiter on a disk of 50 GiB', async () => {
    const site = await openSite('arbiter', 50);
    const web = await startWeb({ '/arbiter.ign': pointer('arbiter') });
    const end = await install(site, { '192.0.2.10:80': web.url });
    expectInstalled(site, end);
    expectAsked(site, web, ['/arbiter.ign']);
    expect(await ignitionOnDisk(site.machine)).toBe(pointer('arbiter'));
  });

  it('single-node.yaml installs a single node with the objects that its comment names', async () => {
    const site = await openSite('single-node');
    const objects = await startBucket({
      'edge-1/bootstrap.ign': bootstrapIgnition({ ...seed, controlPlaneCount: 1 }),
      'edge-1/master.ign': /\{"ignition": .*/.exec(site.text)?.[0] ?? '',
    });
    simulateBootstrapInPlace(site.machine, Pace.parse({}));
    const end = await install(site, { '192.0.2.10:9000': objects.url });
    expectInstalled(site, end);
    expectAsked(site, objects, ['/ignition/edge-1/bootstrap.ign', '/ignition/edge-1/master.ign']);
    const { storage } = parseConfig(await ignitionOnDisk(site.machine));
    expect(storage?.files?.map(({ path }) => path)).toEqual(['/etc/kubernetes/bootstrap-in-place']);
  });

  it('bootstrap.yaml starts a cluster of two masters, and becomes the third', async () => {
    const site = await openSite('bootstrap');
    const kube = await startUnreachable(await kubeParts());
    const members = ['b1', 'm1', 'm2'].map((name, index) => ({
      name,
      hostId: name,
      role: 'master' as const,
      isBootstrap: name === 'b1',
      addresses: [`192.0.2.${21 + index}`],
    }));
    const { openshiftVersion: version } = (parse(site.text) as { cluster: typeof seed }).cluster;
    const plan = {
      members,
      version,
      pace: Pace.parse({}),
      apiMoves: false,
      needsEtcdOverride: false,
    };
    const started = await startCluster(
      {
        plan,
        members,
        kube,
        bootstrap: site.machine,
        store,
        invoker: 'openshift-installer',
      },
      { bundle: bundlePath, folder: site.folder },
    );
    onTestFinished(() => started[Symbol.asyncDispose]());
    const { cluster } = started;
    if (cluster === undefined) throw new Error('no cluster was started');
    const api = '127.0.0.1:6443';
    const kubeconfig = kube.kubeconfig.replaceAll(kube.forwarder.url, `https://${api}`);
    const objects = await startBucket({
      'production/bootstrap.ign': bootstrapIgnition(seed, { kubeconfig }),
      'production/master.ign': pointer('master'),
    });
    for (const host of ['m1', 'm2']) cluster.emit({ kind: 'rebooted', host });
    const end = await install(site, { '192.0.2.10:9000': objects.url, [api]: kube.forwarder.url });
    expectInstalled(site, end);
    expectAsked(site, objects, [
      '/ignition/production/bootstrap.ign',
      '/ignition/production/master.ign',
    ]);
    expect(await ignitionOnDisk(site.machine)).toBe(pointer('master'));
    cluster.emit({ kind: 'rebooted', host: 'b1' });
    await expect
      .poll(() => cluster.state().phases)
      .toEqual({ b1: 'ready', m1: 'ready', m2: 'ready' });
    expect(await started.end()).toEqual([]);
  });
});
