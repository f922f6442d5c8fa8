// The controller as its pod runs it: from the image, with the settings of its job, as a user
// without an entry in /etc/passwd. On OpenShift the SecurityContextConstraints `hostaccess` admit
// the pod; they set a user of its namespace and drop the privileges of root (openshift/api,
// SecurityContextConstraints).
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { buildAgentImage, openContainerStore, withImageRoot } from '../support/container-store.ts';
import { startRig } from '../../scripts/api-server.ts';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import { controllerName, controllerNamespace } from '../../src/cluster/controller.ts';
import { deploy, putInstaller, putNode } from '../kube/new-cluster.ts';
import { until } from '../kube/pivoted-cluster.ts';

const store = openContainerStore();
const image = 'localhost/bootwright-test:controller';
const issuer = tokenIssuer();
const cluster = clusterSeed({ platform: 'none' });
const m0 = hostSeed({
  clusterId: cluster.id,
  infraEnvId: '7a000000-0000-4000-8000-000000000000',
  hostname: 'm0',
  role: 'master',
  status: 'installing-in-progress',
  stage: 'Rebooting',
  addresses: ['192.0.2.10/24'],
});
/** The first id of a namespace's range: user and group of its volumes. */
const user = 1_000_650_000;

let rig: Rig;
let service: InventoryServer;
let program: ChildProcess | undefined;

beforeAll(async () => {
  await buildAgentImage(store, image);
  rig = await startRig();
  service = await startInventory({ cluster, hosts: [m0], auth: issuer.auth });
  service.store.setKubeconfig(rig.kubeconfig);
  await deploy(rig.client);
});

afterAll(async () => {
  program?.kill('SIGKILL');
  await service.close();
  await rig.close();
  await store.run('podman', 'rmi', '--force', image);
});

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly configMapKeyRef: { readonly key: string } };
}

interface Job {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly [{ readonly env: readonly Variable[] }] };
    };
  };
}

const deployed = (name: string): unknown =>
  parse(readFileSync(resolve(import.meta.dirname, '../../deploy/controller', name), 'utf8'));

/**
 * The variables of the job's container, with the settings of this cluster, and the variables of
 * every pod.
 */
function variables(server: URL): Readonly<Record<string, string>> {
  const { data } = deployed('config.yaml') as { readonly data: Readonly<Record<string, string>> };
  const settings: Readonly<Record<string, string>> = {
    ...data,
    'cluster-id': cluster.id,
    'inventory-url': service.url,
  };
  const [{ env }] = (deployed('job.yaml') as Job).spec.template.spec.containers;
  return Object.fromEntries([
    ...env.map(({ name, value, valueFrom }) => [
      name,
      value ?? settings[valueFrom?.configMapKeyRef.key ?? ''] ?? '',
    ]),
    ['KUBERNETES_SERVICE_HOST', server.hostname],
    ['KUBERNETES_SERVICE_PORT', server.port],
  ]) as Readonly<Record<string, string>>;
}

/** Writes a file of a volume, as a kubelet does for a pod with an fsGroup. */
function putVolumeFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chownSync(path, 0, user);
  chmodSync(path, 0o440);
}

/** Starts the image's entrypoint in the image's root as that user. */
async function start(root: string): Promise<ChildProcess & { readonly log: () => string }> {
  const { server, ca = '' } = readKubeconfig(rig.kubeconfig);
  const token = await rig.client.tokenOf(controllerNamespace, controllerName);
  const volumes = {
    'var/run/secrets/kubernetes.io/serviceaccount/token': token,
    'var/run/secrets/kubernetes.io/serviceaccount/ca.crt': ca,
    'etc/assisted-installer-controller/token': issuer.issue({ cluster_id: cluster.id }),
  };
  for (const [path, content] of Object.entries(volumes)) putVolumeFile(join(root, path), content);
  const inspected = await store.run('podman', 'image', 'inspect', image);
  const [{ Config: settings }] = JSON.parse(inspected) as [
    {
      readonly Config: { readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
    },
  ];
  const own = settings.Env.map((line) => line.split('=') as [string, string]);
  const mounts = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev"';
  const script = `${mounts} && exec chroot --userspec=${user}:0 --groups=${user} "$0" "$@"`;
  const argv = ['--mount', '/bin/sh', '-c', script, root, ...settings.Entrypoint];
  const env = { ...Object.fromEntries(own), ...variables(new URL(server)) };
  const child = spawn('unshare', argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  return Object.assign(child, { log: () => log });
}

it('logs its waits and reports a Ready node as a user without a passwd entry', async () => {
  await withImageRoot(store, image, async (root) => {
    const started = await start(root);
    program = started;
    const ended = once(started, 'exit');
    await until(() => Promise.resolve(started.log().includes('waiting for the Proxy')));
    await putInstaller(rig.client, 'assisted-service');
    await putNode(rig.client, { name: 'm0', addresses: m0.addresses, isReady: true });
    await until(() => Promise.resolve(started.log().includes('m0 is Done')));
    expect(service.store.hosts()[0]?.stage).toBe('Done');
    started.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
  });
});
