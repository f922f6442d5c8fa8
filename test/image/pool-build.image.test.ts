// The images of a pool that the operator does not run: the command under its own permissions on a real API server with the
// real controller of Jobs, real buildah and a real registry. A kubelet is what is missing: the pod's program is run here.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import {
  clusterRoleBindings,
  events,
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceAccounts,
} from '../../src/cluster/kinds.ts';
import {
  annotationOf,
  conditionOf,
  nodeKeys,
  textAt,
} from '../../src/layering/api/cluster-object.ts';
import { buildKeys } from '../../src/layering/api/os-build.ts';
import { phaseOf } from '../../src/layering/hand-over/pool-status.ts';
import { operatorNamespace as namespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { NODE_PULL_SECRET_PATH } from '../../src/layering/manifests/served-config.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import {
  buildAccountManifests,
  imageBuildRules,
  nodeControllerManifests,
} from '../../src/controllers/pools/manifests.ts';
import { putNode } from '../kube/new-cluster.ts';
import { clusterRoles, roleBindings, roles, serviceAccountOf } from '../kube/rig.ts';
import { osConfig, pushSecret } from './lane/lane-objects.ts';
import { type LayeredSite, names, openLayeredSite } from './lane/layered-site.ts';

const top = resolve(import.meta.dirname, '../..');
const account = 'bootwright-node-controller';
const apiVersion = 'machineconfiguration.openshift.io/v1';
const role = { 'machineconfiguration.openshift.io/role': 'master' };
const label = { 'node-role.kubernetes.io/master': '' };

const kinds = new Map<string, KubeKind>([
  ['ServiceAccount', serviceAccounts],
  ['ClusterRole', clusterRoles],
  ['ClusterRoleBinding', clusterRoleBindings],
  ['Role', roles],
  ['RoleBinding', roleBindings],
]);

let site: LayeredSite;
let rig: Rig;
let repository: string;
let controller: ChildProcess;
const stop = new AbortController();
/** The argv of each pod that was run. */
const ran: (readonly string[])[] = [];
let kubelet: Promise<void> = Promise.resolve();

interface Pod extends KubeObject {
  readonly spec: {
    readonly volumes: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string };
    }[];
    readonly containers: readonly [
      {
        readonly image: string;
        readonly args: readonly string[];
        readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
      },
    ];
  };
}

/** Puts what a pod mounts of Secrets below a folder. */
async function mount({ spec }: Pod, folder: string): Promise<void> {
  for (const { name, secret } of spec.volumes) {
    if (secret === undefined) continue;
    const [{ volumeMounts }] = spec.containers;
    const place = volumeMounts.find((one) => one.name === name)?.mountPath ?? '';
    const found = await rig.client.get({ kind: secrets, namespace, name: secret.secretName });
    const data = (found?.['data'] ?? {}) as Readonly<Record<string, string>>;
    mkdirSync(join(folder, place), { recursive: true });
    for (const [key, value] of Object.entries(data)) {
      writeFileSync(join(folder, place, key), Buffer.from(value, 'base64'));
    }
  }
}

/** Runs the program of a pod on this machine: it finds below a folder what a pod has at its root. */
async function runProgram(args: readonly string[], folder: string) {
  const written = join(folder, 'termination-log');
  writeFileSync(written, '');
  const here = args.map((word) =>
    word
      .replace(/^\/run\/build/, `${folder}/run/build`)
      .replace('/var/lib/bootwright-build', `${site.folder}/b`)
      .replace('/dev/termination-log', written),
  );
  const program = spawn(process.execPath, [join(top, 'src/main.ts'), ...here], {
    env: { PATH: `${join(site.folder, 'bin')}:${process.env['PATH'] ?? ''}`, TMPDIR: site.folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [program.stdout, program.stderr]) {
    stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  }
  const [exitCode] = (await once(program, 'close')) as [number];
  // Of what has failed the kubelet takes the last lines of the log.
  const fallback = exitCode === 0 ? '' : log.slice(-2048);
  return { exitCode, message: readFileSync(written, 'utf8') || fallback };
}

/** Does with a pod what a kubelet does. */
async function runPod(pod: Pod): Promise<void> {
  const { name } = pod.metadata;
  const folder = join(site.folder, name.slice(-5));
  const [{ image, args }] = pod.spec.containers;
  await mount(pod, folder);
  const ref = { kind: pods, namespace, name };
  const startedAt = new Date().toISOString();
  await rig.client.mergeStatus(ref, { phase: 'Running', startTime: startedAt });
  ran.push(args);
  const { exitCode, message } = await runProgram(args, folder);
  const [phase, reason] = exitCode === 0 ? ['Succeeded', 'Completed'] : ['Failed', 'Error'];
  const terminated = { exitCode, reason, message, startedAt, finishedAt: new Date().toISOString() };
  const status = { name: 'build', image, imageID: '', ready: false, restartCount: 0 };
  await rig.client.mergeStatus(ref, {
    phase,
    containerStatuses: [{ ...status, state: { terminated } }],
  });
}

/** Runs each pod of a build that appears, as often as one does. */
async function runPods(): Promise<void> {
  const seen = new Set<string>();
  while (!stop.signal.aborted) {
    for (const pod of await rig.client.list({ kind: pods, namespace })) {
      const { uid = '', labels } = pod.metadata;
      if (labels?.['app'] !== 'bootwright-build' || seen.has(uid)) continue;
      seen.add(uid);
      await runPod(pod as Pod);
    }
    await systemClock.sleep(200, stop.signal).catch(() => undefined); // sleeps: a kubelet looks again
  }
}

/** What enters the host in a pod has it at hand here: it takes the words behind `--`. */
function putNsenter(): void {
  const folder = join(site.folder, 'bin');
  mkdirSync(folder);
  const variables = Object.entries(site.environment).map(([key, value]) => `${key}='${value}'`);
  const lines = [
    ...['#!/bin/sh', 'while [ "$1" != -- ]; do shift; done', 'shift'],
    // The pull secret of the node.
    `for word; do shift; [ "$word" = ${NODE_PULL_SECRET_PATH} ] && word='${site.authFile}'; set -- "$@" "$word"; done`,
    `exec env HOME=${site.folder} ${variables.join(' ')} "$@"`,
  ];
  const script = `${lines.join('\n')}\n`;
  writeFileSync(join(folder, 'nsenter'), script, { mode: 0o755 });
}

const source = (name: string, spec: object) =>
  rig.client.apply(machineConfigs, {
    ...{ apiVersion, kind: 'MachineConfig', metadata: { name, labels: role } },
    spec: { config: { ignition: { version: '3.2.0' } }, ...spec },
  });

const listed = (kind: KubeKind): Promise<readonly KubeObject[]> =>
  rig.client.list(kind === jobs ? { kind, namespace } : { kind });
const osConfigNow = () => rig.client.get({ kind: machineOSConfigs, name: 'master' });
const nodeNow = () => rig.client.get({ kind: nodes, name: 'm0' });
const buildNow = async (): Promise<KubeObject | undefined> => {
  const name = annotationOf(await osConfigNow(), buildKeys.currentBuild);
  return (await listed(machineOSBuilds)).find(({ metadata }) => metadata.name === name);
};
const eventReasons = async (): Promise<readonly unknown[]> =>
  (await rig.client.list({ kind: events, namespace: 'default' })).map((one) => one['reason']);

async function eventually(what: () => Promise<boolean>, sentence: string): Promise<void> {
  const limit = AbortSignal.timeout(180_000);
  while (!(await what())) {
    if (limit.aborted) throw new Error(`${sentence}: ${JSON.stringify(await buildNow())}`);
    await systemClock.sleep(200, stop.signal); // sleeps: the cluster has its turn
  }
}

/** Waits until the node is to have the image of the pool, and does what its agent would. */
async function rolledOut(besides = ''): Promise<{ image: string; config: string }> {
  const target = async () => {
    const node = await nodeNow();
    return {
      image: annotationOf(node, nodeKeys.desiredImage),
      config: annotationOf(node, nodeKeys.desiredConfig),
    };
  };
  await eventually(async () => {
    const { image, config } = await target();
    const current = await buildNow();
    return (
      image !== '' &&
      config !== besides &&
      textAt(current, 'spec', 'machineConfig', 'name') === config &&
      phaseOf(current!) === 'Succeeded' &&
      textAt(current, 'status', 'digestedImagePushSpec') === image
    );
  }, 'the node is to have the image');
  const now = await target();
  await settle(now.config, now.image);
  return now;
}

const settle = (config: string, image: string | null) =>
  rig.client.merge(
    { kind: nodes, name: 'm0' },
    {
      metadata: {
        annotations: {
          [nodeKeys.currentConfig]: config,
          [nodeKeys.currentImage]: image,
          [nodeKeys.state]: 'Done',
        },
      },
    },
  );

const order = (content: string) =>
  rig.client.merge(
    { kind: machineOSConfigs, name: 'master' },
    {
      spec: {
        baseImagePullSecret: { name: 'pull' },
        containerFile: [{ containerfileArch: 'NoArch', content }],
      },
    },
  );

beforeAll(async () => {
  [site, rig] = await Promise.all([openLayeredSite(), startRig({ isAudited: true })]);
  repository = `${site.final.address}/${names.final}`;
  putNsenter();
  await rig.startControllerManager({
    controllers: ['job-controller', 'garbage-collector-controller', 'namespace-controller'],
  });
  const { client } = rig;
  await client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  for (const object of [...nodeControllerManifests('r.test/i'), ...buildAccountManifests()]) {
    const kind = kinds.get(object.kind ?? '');
    // A Deployment would have no pod here.
    if (kind !== undefined) await client.apply(kind, object);
  }
  await client.apply(serviceAccounts, serviceAccountOf(namespace));
  await putNode(client, { name: 'm0', addresses: ['192.0.2.1/24'], isReady: true });
  await client.merge(
    { kind: nodes, name: 'm0' },
    { metadata: { labels: { ...label, 'kubernetes.io/arch': 'amd64' } } },
  );
  // Our image is that of our pod.
  const agent = { name: 'agent-m0', namespace, labels: { app: 'bootwright-node-agent' } };
  await client.apply(pods, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: agent },
    spec: {
      serviceAccountName: 'default',
      automountServiceAccountToken: false,
      containers: [{ name: 'agent', image: 'r.test/bootwright:1' }],
    },
  });
  await client.mergeStatus({ kind: pods, namespace, name: agent.name }, { phase: 'Running' });
  for (const [name, registry] of [
    ['push', site.final],
    ['pull', site.release],
  ] as const) {
    // The base is copied to where the image goes, by the credentials of each.
    const secret = pushSecret(registry) as KubeObject;
    await client.apply(secrets, { ...secret, metadata: { name, namespace } });
  }
  await client.apply(machineConfigPools, {
    ...{ apiVersion, kind: 'MachineConfigPool', metadata: { name: 'master' } },
    spec: { machineConfigSelector: { matchLabels: role }, nodeSelector: { matchLabels: label } },
  });
  await source('00-master', { osImageURL: site.osImage });
  const contents = { source: 'data:,pool' };
  const files = [{ path: '/etc/from-the-pool', contents }];
  await source('01-master', { config: { ignition: { version: '3.2.0' }, storage: { files } } });
  await client.apply(machineOSConfigs, osConfig(repository) as object as KubeObject);
  const file = join(rig.folder, 'controller.kubeconfig');
  writeFileSync(file, await rig.kubeconfigFor({ user: { namespace, serviceAccount: account } }));
  await settle('before', null);
  await client.merge(
    { kind: nodes, name: 'm0' },
    { metadata: { annotations: { [nodeKeys.desiredConfig]: 'before' } } },
  );
  kubelet = runPods();
  const argv = [join(top, 'src/main.ts'), 'node', 'controller', '--kubeconfig', file];
  controller = spawn(process.execPath, argv, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
});
afterAll(async () => {
  stop.abort(new Error('the test ends'));
  controller.kill('SIGKILL');
  await kubelet;
  await rig.close();
  await site[Symbol.asyncDispose]();
});

describe('the images of a pool, in a cluster', () => {
  let first: { image: string; config: string };

  it('are built by a Job, pushed, and rolled out', async () => {
    first = await rolledOut();
    expect(first.image).toMatch(new RegExp(`^${repository}@sha256:[0-9a-f]{64}$`));
    const build = await buildNow();
    expect(build).toMatchObject({
      metadata: {
        ownerReferences: [{ kind: 'MachineOSConfig', name: 'master', controller: true }],
      },
      spec: { renderedImagePushSpec: `${repository}:${build?.metadata.name ?? ''}` },
      status: { digestedImagePushSpec: first.image, builder: { imageBuilderType: 'Job' } },
    });
    expect(conditionOf(build, 'Succeeded')).toMatchObject({ status: 'True', reason: 'Ready' });
    const baseLayers = await site.layersOf(site.osImage);
    expect((await site.layersOf(first.image)).slice(0, baseLayers.length)).toEqual(baseLayers);
    expect(ran).toHaveLength(1);
    await eventually(async () => (await listed(jobs)).length === 0, 'the Job is removed');
  });

  it('are taken over where kernel arguments alone changed', async () => {
    await source('50-args', { kernelArguments: ['quiet'] });
    const next = await rolledOut(first.config);
    expect(next.image).toBe(first.image);
    expect(next.config).not.toBe(first.config);
    expect(ran).toHaveLength(1);
    expect(await eventReasons()).toContain('OSImageReused');
  });

  it('say why they could not be built, and are built after a correction', async () => {
    await order('FROM configs AS final\nRUN echo not-to-be-had >&2; exit 3\n');
    await eventually(
      async () => conditionOf(await buildNow(), 'Failed').status === 'True',
      'it fails',
    );
    const { message } = conditionOf(await buildNow(), 'Failed');
    expect(message).toMatch(/^Build Failed: .*layering\.build-failed.*PodFailurePolicy/s);
    expect(message).toContain('not-to-be-had');
    expect(ran, 'one attempt').toHaveLength(2);
    const failed = (await buildNow())?.metadata.name;
    await order('FROM configs AS final\nRUN touch /usr/share/corrected\n');
    const next = await rolledOut();
    expect(next.image).not.toBe(first.image);
    await eventually(
      async () => !(await listed(machineOSBuilds)).some(({ metadata }) => metadata.name === failed),
      'the failed build is removed',
    );
  });

  it('are built once more on request, although another build could lend its image', async () => {
    const { config } = await rolledOut();
    await source('50-args', { kernelArguments: ['debug'] });
    await rolledOut(config);
    expect(ran).toHaveLength(3);
    const uid = (await buildNow())?.metadata.uid;
    await rig.client.merge(
      { kind: machineOSConfigs, name: 'master' },
      { metadata: { annotations: { [buildKeys.rebuild]: '' } } },
    );
    await eventually(async () => {
      const build = await buildNow();
      return build !== undefined && build.metadata.uid !== uid && phaseOf(build) === 'Succeeded';
    }, 'it is built once more');
    expect(ran).toHaveLength(4);
  });

  it('need what the controller may do, and no more', async () => {
    const asked = await rig.audited(`system:serviceaccount:${namespace}:${account}`);
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const used = new Set(asked.map(({ group, resource, verb }) => `${group} ${resource} ${verb}`));
    const granted = Object.values(imageBuildRules).flatMap((rules) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((one) => verbs.map((verb) => `${group} ${one} ${verb}`)),
        ),
      ),
    );
    // The admission asks for that of its own accord.
    const byAdmission = `machineconfiguration.openshift.io machineosconfigs/finalizers update`;
    expect(granted.filter((one) => !used.has(one))).toEqual([byAdmission]);
  });
});
