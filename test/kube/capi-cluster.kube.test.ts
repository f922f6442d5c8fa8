// The commands about one Cluster, against a real API server: its objects say what the providers would have written.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { applyCrds } from '../../mocks/kube/crds.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { ensureBundle } from '../../scripts/bundle.ts';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { kubectl } from '../../scripts/parts/kube/kubectl.ts';
import { startRig } from '../../scripts/rig.ts';
import {
  bootstrapConfigs,
  bootstrapConfigType,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
} from '../../src/capi/api.ts';
import { bootstrapCrds, controlPlaneCrd } from '../../src/capi/definitions.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { clusterRoleBindings, events, namespaces, secrets } from '../../src/cluster/kinds.ts';
import { readArchive } from '../../src/lib/archive.ts';
import type { KubeKind, KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { configSpec, controlPlaneObject } from '../capi/cluster.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { clusterRoles } from './rig.ts';

const cluster = 'demo';
const labels = { [capiNames.clusterName]: cluster };
const target = { namespace: cluster, name: cluster };
const metal3 = { group: 'infrastructure.cluster.x-k8s.io', version: 'v1beta1' };
let rig: Rig;
let kubeconfig: string;
let printed: string[];

/** A kind of core, of which any content is taken. */
const definitionOf = ({ group, version, plural }: KubeKind, kind: string): KubeObject => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { name: `${plural}.${group}` },
  spec: {
    ...{ group, scope: 'Namespaced', names: { plural, singular: kind.toLowerCase(), kind } },
    versions: [
      {
        ...{ name: version, served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
});

beforeAll(async () => {
  await ensureBundle(() => undefined);
  rig = await startRig({ crds: [], isAudited: true });
  const folder = join(rig.folder, 'definitions');
  mkdirSync(folder);
  const definitions = [
    ...[controlPlaneCrd, ...bootstrapCrds],
    ...[definitionOf(clusters, 'Cluster'), definitionOf(capiMachines, 'Machine')],
    ...['MachineDeployment', 'MachineHealthCheck'].map((kind) =>
      definitionOf({ ...clusters, plural: `${kind.toLowerCase()}s` }, kind),
    ),
    ...['Metal3Cluster', 'Metal3MachineTemplate'].map((kind) =>
      definitionOf({ ...metal3, plural: `${kind.toLowerCase()}s` }, kind),
    ),
  ];
  for (const one of definitions)
    writeFileSync(join(folder, `${one.metadata.name}.yaml`), JSON.stringify(one));
  await applyCrds(rig.client, folder, 'all');
  await rig.client.apply(namespaces, {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } },
  });
  await rig.client.create(clusters, {
    ...{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { ...target, labels } },
  });
  const plane = controlPlaneObject(cluster);
  await rig.client.create(controlPlanes, {
    ...{ ...plane, metadata: { ...plane.metadata, labels } },
  });
  await rig.client.create(bootstrapConfigs, {
    ...{ ...bootstrapConfigType, metadata: { name: 'm0', namespace: cluster, labels } },
    spec: configSpec,
  });
  kubeconfig = join(rig.folder, 'management.kubeconfig');
  writeFileSync(kubeconfig, rig.kubeconfig);
});
afterAll(() => rig.close());
beforeEach(() => {
  printed = [];
  const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const watch = (...words: readonly string[]): Promise<number> =>
  bootwright().run([
    ...['capi', 'watch', '--kubeconfig', kubeconfig, '--cluster', `${cluster}/${cluster}`],
    ...words,
  ]);

/** A line that the command has printed, now or later. */
const line = (pattern: RegExp): Promise<void> =>
  vi.waitFor(() => expect(printed.join('')).toMatch(pattern), { timeout: 300_000, interval: 20 });

const set = (kind: KubeKind, name: string, ...of: readonly [string, string, string, string?]) => {
  const [type, status, reason, message = ''] = of;
  const ref: KubeRef = { kind, namespace: cluster, name };
  const condition = { type, status, reason, message, lastTransitionTime: '2026-11-27T06:00:00Z' };
  return rig.client.mergeStatus(ref, { conditions: [condition] });
};
const host = (...of: readonly [status: string, reason: string, message?: string]) =>
  set(bootstrapConfigs, 'm0', 'Ready', ...of);
const plane = (...of: readonly [status: string, reason: string, message?: string]) =>
  set(controlPlanes, cluster, 'Installed', ...of);

it('installs by the lines of cluster-api-metal3.md', async () => {
  const namespace = 'example';
  const files = { 'management.kubeconfig': rig.kubeconfig };
  const bin = join(await ensurePart(kubectl), 'bin');
  const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
  const followed = followGuide('cluster-api-metal3.md', { PATH }, { files });
  const report = (
    ref: Pick<KubeRef, 'kind'> & { readonly name: string },
    type: string,
    reason: string,
  ): Promise<unknown> => {
    const lastTransitionTime = '2026-11-27T06:00:00Z';
    const condition = { type, status: 'True', reason, message: '', lastTransitionTime };
    return rig.client.mergeStatus({ ...ref, namespace }, { conditions: [condition] });
  };
  // The part of the providers: its host is installed once the control plane is there.
  const available = (): Promise<unknown> =>
    report({ kind: controlPlanes, name: 'example' }, 'Installed', 'Installed');
  await Promise.race([followed, vi.waitFor(available, { timeout: 300_000, interval: 200 })]);
  await rig.client.create(bootstrapConfigs, {
    ...{ ...bootstrapConfigType, spec: configSpec },
    metadata: { name: 'm0', namespace, labels: { [capiNames.clusterName]: 'example' } },
  });
  await report({ kind: bootstrapConfigs, name: 'm0' }, 'Ready', 'Installed');
  await followed;
});

describe('R45: capi gather', () => {
  const planted = {
    pull: 'planted-password-of-a-registry',
    bmc: 'planted-password-of-a-bmc',
    key: 'cGxhbnRlZC1wcml2YXRlLWtleQ',
    token: 'planted-token-of-an-agent',
    hash: '$6$planted$hash-of-a-password-0123456789',
    admin: 'planted-PaSsw-of-the-admin-user',
  };
  const auth = Buffer.from(`user:${planted.pull}`).toString('base64');
  const pullSecret = JSON.stringify({ auths: { 'registry.example': { auth } } });
  const secret = (name: string, stringData: object, more: object = {}): Promise<KubeObject> =>
    rig.client.create(secrets, {
      ...{ apiVersion: 'v1', kind: 'Secret', stringData },
      metadata: { name, namespace: cluster, labels: { ...labels, ...more } },
    });

  beforeAll(async () => {
    const installConfig = `apiVersion: v1\nmetadata: {name: demo}\npullSecret: '${pullSecret}'\nplatform: {baremetal: {hosts: [{bmc: {password: ${planted.bmc}}}]}}\n`;
    await secret('install-state', { 'install-config.yaml': installConfig });
    await secret('pull-secret', { '.dockerconfigjson': pullSecret });
    const user = { name: 'u', user: { 'client-key-data': planted.key, token: planted.token } };
    await secret('demo-kubeconfig', { value: `users: [${JSON.stringify(user)}]\n` });
    const source = `data:,${planted.token}`;
    const files = [{ path: '/etc/bootwright/token', mode: 0o600, contents: { source } }];
    const ignition = { ignition: { version: '3.2.0' }, storage: { files } };
    await secret('m0', { value: JSON.stringify(ignition), format: 'ignition' });
    await secret('demo-install-assets', {
      ...{ 'kubeadmin-password': planted.admin, 'mco-image': 'registry.example/mco' },
    });
    const passwd = { users: [{ name: 'core', passwordHash: planted.hash }] };
    const override = JSON.stringify({ ignition: { version: '3.2.0' }, passwd });
    await rig.client.merge(
      { kind: bootstrapConfigs, namespace: cluster, name: 'm0' },
      { spec: { ignitionConfigOverride: override } },
    );
    const log = gzipSync(`begin ${planted.admin}\nGET ${planted.pull}\nthe end\n`);
    await rig.client.create(secrets, {
      ...{ apiVersion: 'v1', kind: 'Secret', data: { 'log.gz': log.toString('base64') } },
      metadata: { name: 'm0-log', namespace: cluster, labels: { 'bootwright.io/host-log': '' } },
    });
    await rig.client.create(events, {
      ...{ apiVersion: 'v1', kind: 'Event', reason: 'FailedLogin', type: 'Warning' },
      ...{ metadata: { name: 'e', namespace: cluster }, message: `no ${planted.bmc} here` },
      involvedObject: { kind: 'Machine', name: 'm0', namespace: cluster },
    });
  });

  /** Gathers as somebody; resolves with the files and what the manifest says is missing. */
  const gather = async (as: string) => {
    const output = join(rig.folder, `${as}.tar.gz`);
    const path = join(rig.folder, `${as}.kubeconfig`);
    writeFileSync(
      path,
      as === 'admin' ? rig.kubeconfig : await rig.kubeconfigFor({ user: { name: as } }),
    );
    const words = ['--kubeconfig', path, '--cluster', `${cluster}/${cluster}`, '--output', output];
    expect(await bootwright().run(['capi', 'gather', ...words])).toBe(0);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const files = await readArchive(readFileSync(output));
    const manifest = JSON.parse(files.get('manifest.json') ?? '') as {
      readonly files: readonly { readonly name: string; readonly missing?: string }[];
    };
    return { files, missing: manifest.files.filter(({ missing }) => missing !== undefined) };
  };

  it('holds what says how the cluster fares, and no value of a Secret', async () => {
    const { files, missing } = await gather('admin');
    expect(missing).toEqual([]);
    expect([...files.keys()]).toEqual([
      ...['manifest.json', 'clusters.yaml', 'events.txt', 'host-m0.log', 'job-pods.yaml'],
      ...['jobs.yaml', 'machinedeployments.yaml', 'machinehealthchecks.yaml', 'machines.yaml'],
      ...['machinesets.yaml', 'manager-bootstrap-pods.yaml', 'manager-control-plane-pods.yaml'],
      ...['openshiftbootstrapconfigs.yaml', 'openshiftcontrolplanes.yaml', 'secrets.yaml'],
    ]);
    expect(files.get('openshiftcontrolplanes.yaml')).toContain('distributionVersion: 4.20.0');
    expect(files.get('secrets.yaml')).toContain('mco-image: (20 bytes)');
    expect(files.get('events.txt')).toMatch(/Warning FailedLogin Machine\/m0: no .+ here/);
    expect(files.get('host-m0.log')).toMatch(/^begin .+\nGET .+\nthe end\n$/);
    const all = [...files.values()].join('\n');
    for (const value of [...Object.values(planted), auth]) {
      expect(all).not.toContain(value);
      expect(all).not.toContain(Buffer.from(value).toString('base64').slice(0, -4));
    }
  });

  it('names what may not be read, and gathers the rest', async () => {
    const rule = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] };
    const groups = ['cluster.x-k8s.io', controlPlanes.group];
    const metadata = { name: 'viewer' };
    await rig.client.apply(clusterRoles, {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata },
      rules: [{ ...rule, apiGroups: groups }],
    });
    await rig.client.apply(clusterRoleBindings, {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'viewer' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
    });
    const { files, missing } = await gather('viewer');
    expect(files.get('machines.yaml')).toBeDefined();
    const names = missing.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['events.txt', 'jobs.yaml', 'manager-bootstrap-*.log', 'secrets of the namespace'],
        'openshiftbootstrapconfigs.yaml',
      ]),
    );
    expect(missing.every(({ missing: why = '' }) => why.includes('forbidden'))).toBe(true);
    for (const name of names) expect(printed.join('')).toContain(`not in it: ${name}: `);
    const lists = (await rig.audited('viewer')).filter(
      ({ verb, status }) => verb === 'list' && status === 200,
    );
    const listed = lists.map(({ resource }) => resource).toSorted();
    expect(listed).toEqual([...new Set(listed)]);
    expect(listed).toContain(controlPlanes.plural);
  });

  it('overwrites nothing', async () => {
    await expect(gather('admin')).rejects.toMatchObject({ code: 'capi.not-written', kind: 'host' });
  });
});

describe('R40 to R43: capi watch', () => {
  it('says each stage, also after a restart of the API server, and ends with the installation', async () => {
    await host('False', 'Installing', 'Installing');
    const ended = watch('--timeout', '1h');
    await line(/^\S+ host m0: Installing$/m);
    await rig.api.kill();
    await line(/^note: .*does not answer/m);
    await rig.api.start();
    await host('False', 'InstallationFailed', 'Installing: disk.busy: mounted — unmount it');
    await line(/^\S+ failed: host m0: Installing: disk\.busy: .*unmount it; next: ./m);
    await line(/^note: .*answers again/m);
    await host('True', 'Installed');
    await plane('True', 'Installed');
    expect(await ended).toBe(0);
    const lines = printed.join('').match(/^\S+Z .*$/gm) ?? [];
    expect(lines.map((one) => one.replace(/^\S+ /, '').replace(/: disk.*/, ''))).toEqual([
      ...['host m0: Installing', 'failed: host m0: Installing', 'host m0: Installed'],
      ...['control plane demo: Installed True Installed', 'Cluster demo/demo: installed'],
    ]);
  });

  it('ends by what has failed, where that is asked for', async () => {
    await host('False', 'InstallationFailed', 'Installing: disk.busy: mounted — unmount it');
    await expect(watch('--fail-fast')).rejects.toMatchObject({
      ...{ code: 'capi.installation-failed', kind: 'cluster' },
      message: expect.stringContaining('host m0: Installing: disk.busy') as string,
    });
    await expect(watch('--timeout', '4s')).rejects.toMatchObject({
      code: 'capi.installation-failed',
    });
  });

  it('ends at its time, and of what is not there at once', async () => {
    await host('False', 'Installing');
    await expect(watch('--timeout', '1s')).rejects.toMatchObject({
      ...{ code: 'capi.not-installed', kind: 'limit' },
    });
    await expect(watch('--timeout', 'soon')).rejects.toMatchObject({ code: 'cli.bad-flag' });
    await expect(watch('--cluster', `${cluster}/other`)).rejects.toMatchObject({
      ...{ code: 'capi.cluster-not-found', kind: 'input' },
    });
    await expect(watch('--cluster', cluster)).rejects.toMatchObject({ code: 'cli.bad-flag' });
  });

  it('ends with a Cluster that is deleted', async () => {
    // It may end before the answer to the request that removes the Cluster has come.
    const ended = expect(watch()).rejects.toMatchObject({
      ...{ code: 'capi.cluster-deleted', kind: 'cluster' },
    });
    await line(/^\S+ host m0: Installing$/m);
    await rig.client.remove({ kind: clusters, ...target });
    await ended;
  });
});
