import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { type BootstrapConfigSpec, bootstrapConfigs, controlPlanes } from '../../src/capi/api.ts';
import { listAt } from '../../src/kube/object.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import {
  bootstrapConfigTemplates,
  configSpec,
  controlPlaneObject,
  machineObjects,
} from './cluster.ts';
import { customResourceDefinitions } from '../kube/cluster-access.ts';
import { type CapiRig, deployedObjects } from './management.ts';

const run = promisify(execFile);
const top = resolve(import.meta.dirname, '../..');
const guide = join(top, 'docs/cluster-api.md');
const kinds = [controlPlanes, bootstrapConfigs, bootstrapConfigTemplates];

let rig: CapiRig;

/** The status of the API server's answer; 200 on success. */
const statusOf = (asked: Promise<unknown>): Promise<number> =>
  asked.then(
    () => 200,
    (error: unknown) => {
      if (error instanceof KubeRefusal) return error.status;
      throw error;
    },
  );

/**
 * Checks the definitions and files of this project with the API server and Cluster API's own
 * programs, in a management cluster without managers.
 */
export function definitionsSuite(started: () => CapiRig): void {
  beforeAll(() => {
    rig = started();
  });

  describe('definitions', describeDefinitions);
  describe('clusterctl', describeClusterctl);
}

function describeDefinitions(): void {
  let made = 0;
  const named = (name: string) => ({ nodeRegistration: { name } });
  const cluster = 'unchanged';
  const ref = { kind: controlPlanes, namespace: cluster, name: cluster };
  const change = (spec: object) => statusOf(rig.client.merge(ref, { spec }));
  const template = (spec: object) => change({ machineTemplate: { spec } });
  const scale = (replicas: number) =>
    statusOf(rig.client.merge(ref, { spec: { replicas } }, 'scale'));

  beforeAll(async () => {
    await rig.applyAll([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } }]);
    await rig.applyAll([controlPlaneObject(cluster)]);
  });

  it('refuses another infrastructureRef for masters', async () => {
    expect(await template({ infrastructureRef: { name: 'others' } })).toBe(422);
    expect(await template({ deletion: { nodeDrainTimeoutSeconds: 60 } })).toBe(200);
    expect(await change({ machineTemplate: { metadata: { labels: { rack: 'a' } } } })).toBe(200);
  });

  it('refuses to remove masters or to scale to two, also by the scale subresource', async () => {
    expect([await scale(1), await change({ replicas: 1 }), await scale(2)]).toEqual([
      422, 422, 422,
    ]);
    expect(await scale(5)).toBe(200);
    expect(await change({ replicas: 4 })).toBe(422);
  });

  it('refuses to scale a single node until it is installed, also by the scale subresource', async () => {
    const [name, to] = ['single', { spec: { replicas: 3 } }] as const;
    const single = { ...ref, name };
    const object = controlPlaneObject({ cluster: name, namespace: cluster }, { replicas: 1 });
    await rig.applyAll([object]);
    const date = '2026-11-27T00:00:00Z';
    const complete = (status: string) => ({
      type: 'BootstrapComplete',
      status,
      reason: 'x',
      lastTransitionTime: date,
    });
    const refusal = 'masters can be added once the single node is installed';
    await expect(rig.client.merge(single, to)).rejects.toThrow(refusal);
    await rig.client.mergeStatus(single, { conditions: [complete('False')] });
    await expect(rig.client.merge(single, to, 'scale')).rejects.toThrow(refusal);
    await rig.client.mergeStatus(single, { conditions: [complete('True')] });
    expect(await statusOf(rig.client.merge(single, to, 'scale'))).toBe(200);
  });

  it.each<readonly [string, object, number]>([
    ['no name', configSpec, 200],
    ['a name with a placeholder', named('$METADATA_NAME'), 200],
    ['one name for all masters', named('master'), 422],
    [
      'another inventory',
      {
        inventory: {
          mode: 'External',
          url: 'https://a',
          clusterId: 'c',
          tokenSecretRef: { name: 't' },
        },
      },
      422,
    ],
  ])('validates a control plane with %s: %#', async (_, more, status) => {
    const object = controlPlaneObject(
      { cluster: `plane-${(made += 1)}`, namespace: cluster },
      { configSpec: { ...configSpec, ...more } },
    );
    expect(await statusOf(rig.client.create(controlPlanes, object))).toBe(status);
  });

  it.each([
    [63, 200],
    [64, 422],
  ])('validates a control plane name of %i characters: status %i', async (length, status) => {
    const name = 'a'.repeat(length);
    const object = controlPlaneObject({ cluster: name, namespace: cluster });
    expect(await statusOf(rig.client.create(controlPlanes, object))).toBe(status);
  });

  it('refuses a change of the spec of a config once its data Secret exists', async () => {
    await rig.applyAll(machineObjects({ cluster, name: 'host' }).slice(1, 2));
    const config = { kind: bootstrapConfigs, namespace: cluster, name: 'host' };
    const device = (name: string) =>
      statusOf(rig.client.merge(config, { spec: { installDevice: name } }));
    expect(await device('/dev/vdb')).toBe(200);
    await rig.client.mergeStatus(config, { dataSecretName: 'host' });
    expect(await device('/dev/vdc')).toBe(422);
    const labels = { metadata: { labels: { rack: 'a' } } };
    expect(await statusOf(rig.client.merge(config, labels))).toBe(200);
  });

  const agent = configSpec.agent;
  const known = { mode: 'External', url: 'https://a.example', clusterId: 'c-9' } as const;
  const external = { ...known, tokenSecretRef: { name: 'token' } };
  const { clusterId: _, ...unknown } = external;
  it.each<readonly [string, BootstrapConfigSpec, number]>([
    ['a disk', { agent, installDevice: '/dev/disk/by-id/a' }, 200],
    ['the existing root', { agent, writeMode: 'ExistingRoot' }, 200],
    ['no disk', { agent }, 422],
    ['hints', { agent, rootDeviceHints: { minSizeGigabytes: 400, rotational: false } }, 200],
    ['empty hints', { agent, rootDeviceHints: {} }, 422],
    ['an invalid hctl hint', { agent, rootDeviceHints: { hctl: '0:1' } }, 422],
    ['a hint with a comma', { agent, rootDeviceHints: { model: 'A,wwn=5' } }, 422],
    [
      'both a disk and hints',
      { agent, installDevice: '/dev/a', rootDeviceHints: { wwn: '5' } },
      422,
    ],
    ['a disk that is not a path', { agent, installDevice: 'vda' }, 422],
    ['a disk with a command behind it', { agent, installDevice: '/dev/sda;reboot' }, 422],
    ['a disk with a command in it', { agent, installDevice: '/dev/$(reboot)' }, 422],
    ['a path out of /dev', { agent, installDevice: '/dev/../etc/passwd' }, 422],
    ['a path with a dot', { agent, installDevice: '/dev/disk/./sda' }, 422],
    ['a path with an empty part', { agent, installDevice: '/dev//sda' }, 422],
    ['a udev link', { agent, installDevice: '/dev/disk/by-id/nvme-D.1+x:y=z@a#b' }, 200],
    ['an escaped link', { agent, installDevice: String.raw`/dev/disk/by-partlabel/a\x20b` }, 200],
    ['a name of 63 characters', { ...configSpec, ...named('a'.repeat(63)) }, 200],
    ['a name of 64 characters', { ...configSpec, ...named('a'.repeat(64)) }, 422],
    ['the name localhost', { ...configSpec, ...named('LocalHost.localdomain') }, 422],
    [
      'a name with a placeholder and a domain',
      { ...configSpec, ...named('$METADATA_NAME.example.com') },
      200,
    ],
    ['a proxy', { ...configSpec, proxy: { httpProxy: 'http://u:p%40w@proxy:3128' } }, 200],
    [
      'a proxy with an unescaped @',
      { ...configSpec, proxy: { httpProxy: 'http://u:p@w@proxy' } },
      422,
    ],
    [
      'another inventory without its address',
      { ...configSpec, inventory: { mode: 'External' } },
      422,
    ],
    ['another inventory without a cluster ID', { ...configSpec, inventory: unknown }, 422],
    ['another inventory without a token', { ...configSpec, inventory: known }, 422],
    ['another inventory', { ...configSpec, inventory: external }, 200],
  ])('validates a config with %s: %#', async (_, spec, status) => {
    const creation = rig.client.create(bootstrapConfigs, {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
      kind: 'OpenShiftBootstrapConfig',
      metadata: {
        name: `config-${(made += 1)}`,
        namespace: cluster,
      },
      spec,
    });
    expect(await statusOf(creation)).toBe(status);
  });
}

function describeClusterctl(): void {
  const offline = { GOPROXY: 'off', CLUSTERCTL_DISABLE_VERSIONCHECK: 'true' };
  let folder: string;
  const at = (...names: readonly string[]): string => join(folder, ...names);
  /** The block of the guide with this beginning, with its folder replaced by the test's. */
  const ofGuide = (begin: string): string => {
    const text = readFileSync(guide, 'utf8');
    const from = text.indexOf(begin);
    return text.slice(from, text.indexOf('```', from)).replaceAll('/opt/bootwright', folder);
  };
  const clusterctl = async (words: readonly string[], address = '192.0.2.7'): Promise<string> => {
    const { stdout } = await run(join(rig.part, 'bin', 'clusterctl'), [...words], {
      env: {
        HOME: folder,
        ...offline,
        BOOTWRIGHT_INVENTORY_HOST: address,
        BOOTWRIGHT_INVENTORY_IP: address,
      },
    });
    return stdout;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bootwright-clusterctl-'));
    await run('sh', ['-ec', ofGuide('image=')], { cwd: top });
    const own = parse(ofGuide('# ~/.cluster-api/clusterctl.yaml')) as ClusterctlConfig;
    const besides = parse(ofGuide('# also in')) as ClusterctlConfig;
    const providers = [...own.providers, ...besides.providers];
    await writeFile(at('config.yaml'), JSON.stringify({ ...besides, providers }));
    for (const [url, image, minor] of [
      [providers[2]?.url, 'registry.k8s.io/cluster-api/cluster-api-controller:v1.14.2', 14],
      [providers[3]?.url, 'quay.io/metal3-io/cluster-api-provider-metal3:v1.12.0', 12],
      [besides['cert-manager']?.url, certManagerImage, 0],
    ] as const) {
      await mkdir(dirname(url ?? ''), { recursive: true });
      await writeFile(url ?? '', foreignComponents(image));
      const series = { releaseSeries: [{ major: 1, minor, contract: 'v1beta2' }] };
      const metadata = { apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3', kind: 'Metadata' };
      await writeFile(
        join(dirname(url ?? ''), 'metadata.yaml'),
        stringify({ ...metadata, ...series }),
      );
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['bootstrap', '192.0.2.7'],
    ['bootstrap', '2001:db8:7::'],
    ['control-plane', '192.0.2.7'],
  ])('reads the files of the %s provider offline, at %s', async (provider, address) => {
    const ours = ['--config', at('config.yaml'), `--${provider}`, 'bootwright:v1.1.0'];
    const generate = (...more: readonly string[]): Promise<string> =>
      clusterctl(['generate', 'provider', ...ours, ...more], address);
    const described = await generate('--describe');
    expect(described).toContain('\n  - registry.example.com/bootwright:1\n');
    const made = parseAllDocuments(await generate()).map((one) => one.toJS() as KubeObject);
    // A client compares an IP address in a URL only with IP addresses.
    const addresses = made.flatMap((one) => listAt(one, 'spec', 'ipAddresses'));
    expect(addresses).toEqual(provider === 'bootstrap' ? [address] : []);
    const [container] = made.flatMap((one) =>
      listAt(one, 'spec', 'template', 'spec', 'containers'),
    );
    const urls = [`--inventory-url=https://${address}`];
    expect(container).toMatchObject({
      args: expect.arrayContaining(provider === 'bootstrap' ? urls : []) as readonly string[],
      env: [{ name: 'BOOTWRIGHT_IMAGE', value: 'registry.example.com/bootwright:1' }],
    });
    const label = `${provider}-bootwright`;
    const expected = deployedObjects().filter(
      ({ metadata }) => metadata.labels?.['cluster.x-k8s.io/provider'] === label,
    );
    expect(namesOf(made)).toEqual(namesOf(expected));
  });

  it('lists every image, and installs both providers into a cluster without the internet', async () => {
    const { client, url } = rig.guest;
    for (const plural of ['issuers', 'certificates'])
      await client.create(customResourceDefinitions, certManagerDefinition(plural));
    await writeFile(at('kubeconfig'), await rig.kube.kubeconfigFor({ server: url }));
    const words = [
      ...['--config', at('config.yaml'), '--kubeconfig', at('kubeconfig')],
      ...['--core', 'cluster-api:v1.14.2', '--bootstrap', 'bootwright'],
      ...['--control-plane', 'bootwright', '--infrastructure', 'metal3'],
    ];
    const images = await clusterctl(['init', 'list-images', ...words]);
    expect(images.split('\n').filter(Boolean)).toEqual([
      certManagerImage,
      'quay.io/metal3-io/cluster-api-provider-metal3:v1.12.0',
      'registry.example.com/bootwright:1',
      'registry.k8s.io/cluster-api/cluster-api-controller:v1.14.2',
    ]);
    await clusterctl(['init', ...words]);
    const group = { group: 'clusterctl.cluster.x-k8s.io', version: 'v1alpha3' };
    const known = await client.list({ kind: { ...group, plural: 'providers' } });
    expect(known.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual(
      expect.arrayContaining([
        'bootwright-bootstrap-system/bootstrap-bootwright',
        'bootwright-control-plane-system/control-plane-bootwright',
      ]),
    );
    const certificates = { group: 'cert-manager.io', version: 'v1', plural: 'certificates' };
    for (const kind of [...kinds, certificates]) await client.list({ kind });
  });
}

interface ClusterctlConfig {
  readonly 'cert-manager'?: { readonly url: string };
  readonly providers: readonly { readonly url: string }[];
}

const certManagerImage = 'quay.io/jetstack/cert-manager-controller:v1.20.0';

/** For another provider, clusterctl requires a namespace and a Deployment. */
const foreignComponents = (image: string): string => {
  const [namespace, labels] = [`${image.replace(/^.*\/|:.*$/g, '')}-system`, { app: 'x' }];
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'manager', namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'manager', image }] },
      },
    },
  };
  const own = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  return [own, deployment].map((object) => stringify(object)).join('---\n');
};

/** clusterctl and the files only require that the kinds of cert-manager exist. */
const certManagerDefinition = (plural: string): KubeObject => {
  const kind = plural === 'issuers' ? 'Issuer' : 'Certificate';
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
};

/** clusterctl prefixes the names of cluster-scoped objects with the namespace. */
const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ kind = '', metadata: { namespace = '' } }) => `${kind} ${namespace}`).toSorted();
