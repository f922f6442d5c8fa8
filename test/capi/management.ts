import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../mocks/kube/client.ts';
import type { ApiServer } from '../../mocks/kube/control-plane.ts';
import { applyCrds } from '../../mocks/kube/crds.ts';
import { controlProgram, freePort, type ServerControl } from '../../mocks/kube/program.ts';
import type { Kube } from '../../mocks/kube/start.ts';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { capi } from '../../scripts/parts/kube/capi.ts';
import { capi113 } from '../../scripts/parts/kube/capi-1.13.ts';
import { startRig } from '../../scripts/api-server.ts';
import { conditionOf, listAt } from '../../src/kube/object.ts';
import type { KubeKind, KubeObject, KubeRef, KubeSelection } from '../../src/ports/kube.ts';
import { clusterOf, clusterRoles, customResourceDefinitions } from '../kube/cluster-access.ts';

/** A management cluster with the real Cluster API core and infrastructure in memory. */
export interface Management extends AsyncDisposable {
  readonly kube: Kube;
  readonly client: KubeClient;
  /** The folder of Cluster API's programs and manifests. */
  readonly part: string;
  readonly core: ServerControl;
  /**
   * Replaces a stopped core by core 1.14, in the order of `clusterctl upgrade apply`: removes
   * webhooks and rights, then installs definitions, rights and webhooks, and its program last.
   * `beforeStart` runs while its webhooks are called and do not answer.
   */
  readonly upgradeCore: (beforeStart: () => Promise<void>) => Promise<ServerControl>;
  /** Starts the infrastructure in memory, only one on a machine: its port is fixed. */
  readonly startInfrastructure: () => Promise<ServerControl>;
  /** Applies a manifest of any kind. */
  readonly apply: (manifest: KubeObject) => Promise<KubeObject>;
  /** Applies manifests one after another. */
  readonly applyAll: (manifests: readonly KubeObject[]) => Promise<void>;
  /** Applies the files of `deploy/capi`. */
  readonly deploy: () => Promise<void>;
  /** The first defined result of `find` for an object of the selection, now or after a change. */
  readonly found: <T>(
    selection: KubeSelection,
    find: (object: KubeObject) => T | undefined,
  ) => Promise<T>;
  /** Waits until a condition has a status, default True, on the named object or on any. */
  readonly hasCondition: (
    [kind, namespace, name]: readonly [KubeKind, string, (string | undefined)?],
    type: string,
    status?: string,
  ) => Promise<true>;
  /** Waits until an object is gone. */
  readonly gone: (ref: KubeRef) => Promise<void>;
}

/** A management cluster with the API server of a guest cluster. */
export interface CapiRig extends Management {
  readonly guest: ApiServer;
}

const top = resolve(import.meta.dirname, '../..');
const waitMillis = 600_000;

/** Starts all of it in about ten seconds; it ends with this process, however that ends. */
export async function startCapi(): Promise<CapiRig> {
  const management = await startManagement();
  try {
    const starts = [management.kube.startGuest(), management.startInfrastructure()] as const;
    const [guest] = await Promise.all(starts);
    return { ...management, guest };
  } catch (error) {
    await management[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts only the management cluster, with the definitions of the infrastructure. */
export async function startManagement(): Promise<Management> {
  const part = await ensurePart(capi);
  const before = process.env['CLUSTER_API'] === '1.13' ? await ensurePart(capi113) : part;
  const ends = new AsyncDisposableStack();
  try {
    const kube = await startRig({ crds: [], isAudited: true });
    ends.defer(kube.close);
    await kube.startControllerManager({
      controllers: [
        ...['garbage-collector-controller', 'namespace-controller'],
        ...['clusterrole-aggregation-controller', 'job-controller', 'serviceaccount-controller'],
        'root-ca-certificate-publisher-controller',
      ],
    });
    const product = clusterOf(await kube.kubeconfigFor({ server: kube.url }));
    ends.defer(product.close);
    const apply = (manifest: KubeObject) =>
      product.apply(manifest, AbortSignal.timeout(waitMillis), { manager: 'rig' });
    const ports = { core: await freePort(), dev: await freePort() };
    const site: Site = {
      kube,
      apply,
      ca: readFileSync(join(kube.folder, 'pki', 'ca.crt'), 'utf8'),
    };
    const dev: Program = { name: 'dev', part, port: ports.dev };
    const startCore = async ({ isMigrated, beforeStart }: CoreStart, from: string) => {
      const program: Program = { name: 'core', part: from, port: ports.core };
      await define(site, program);
      await allowCore(site, from);
      await configureWebhooks(site, program);
      await beforeStart?.();
      const kubeconfig = await kube.kubeconfigFor({ user: { name: coreUser }, server: kube.url });
      const argv = [join(from, 'bin', 'capi-core'), ...(isMigrated ? [] : unmigrated)];
      const control = await startProgram(site, program, { argv, kubeconfig });
      ends.defer(control.kill);
      return control;
    };
    const [core] = await Promise.all([startCore({ isMigrated: false }, before), define(site, dev)]);
    const { client } = kube;
    return {
      kube,
      client,
      part,
      core,
      apply,
      upgradeCore: async (beforeStart) => {
        await removeCore(site);
        return startCore({ isMigrated: true, beforeStart }, part);
      },
      startInfrastructure: async () => {
        // Its machines have API servers on their own ports, and Docker is absent.
        const env = ['POD_IP=127.0.0.1', 'DOCKER_HOST=unix:///nowhere'];
        // Two masters that it starts at once may each found an etcd; it is then in error for ever.
        const argv = [...env, join(part, 'bin', 'capd'), '--devmachine-concurrency=1'];
        const kubeconfig = await kube.kubeconfigFor({ server: kube.url });
        const control = await startProgram(site, dev, {
          argv: [...argv, ...unmigrated],
          kubeconfig,
        });
        ends.defer(control.kill);
        await configureWebhooks(site, dev);
        return control;
      },
      deploy: async () => {
        for (const object of deployedObjects())
          if (object.apiVersion?.startsWith('cert-manager.io/') !== true)
            await apply(installed(object));
        for (const { metadata } of deployedDefinitions()) await served(client, metadata.name);
      },
      applyAll: async (manifests) => {
        for (const manifest of manifests) await apply(manifest);
      },
      found: (selection, find) => found(client, selection, find),
      hasCondition: ([kind, namespace, name], type, status = 'True') =>
        found(client, { kind, namespace }, (object) =>
          (name ?? object.metadata.name) === object.metadata.name &&
          conditionOf(object, type).status === status
            ? true
            : undefined,
        ),
      gone: (ref) => gone(client, ref),
      [Symbol.asyncDispose]: () => ends.disposeAsync(),
    };
  } catch (error) {
    await ends.disposeAsync();
    throw error;
  }
}

/** The API server serves a new kind a moment after it accepted its definition. */
async function served(client: KubeClient, definition: string): Promise<void> {
  const [plural = '', ...group] = definition.split('.');
  const path = `/apis/${group.join('.')}/v1alpha1`;
  while (!(await client.read(path).catch(String)).includes(`"${plural}"`)) await pause(100);
}

const provider = 'cluster.x-k8s.io/provider';

/** clusterctl labels installed objects so, and finds by it the kinds that it moves. */
const byClusterctl = { 'clusterctl.cluster.x-k8s.io': '' };

const installed = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...byClusterctl } },
});

/** The files of both providers as clusterctl reads them, with each variable at its default. */
export function deployedObjects(): readonly KubeObject[] {
  return ['bootstrap', 'control-plane'].flatMap((name) => {
    const text = readFileSync(join(top, 'deploy', 'capi', `${name}-components.yaml`), 'utf8');
    return objectsOf(text.replaceAll(/\$\{\w+:=([^}]*)\}/g, '$1'));
  });
}

/** The definitions among these objects. */
export const deployedDefinitions = (): readonly KubeObject[] =>
  deployedObjects().filter(({ kind }) => kind === 'CustomResourceDefinition');

function objectsOf(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** Redirects webhooks to this machine that a Service in the cluster would answer. */
function askedAt(
  configuration: KubeObject,
  { port, ca }: { readonly port: number; readonly ca: string },
): KubeObject {
  const webhooks = configuration['webhooks'] as readonly {
    readonly clientConfig: { readonly service: { readonly path: string } };
  }[];
  return {
    ...configuration,
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: {
        url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`,
        caBundle: Buffer.from(ca).toString('base64'),
      },
    })),
  };
}

interface Site {
  readonly kube: Kube;
  readonly apply: Management['apply'];
  readonly ca: string;
}

/** A program of a part, with the port of its webhooks and conversions. */
interface Program {
  readonly name: 'core' | 'dev';
  readonly part: string;
  readonly port: number;
}

interface CoreStart {
  /** Whether objects may come from an older release of core. */
  readonly isMigrated: boolean;
  readonly beforeStart?: () => Promise<void>;
}

/** No object has an older version, and the migration would patch each object. */
const unmigrated = ['--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields'];

async function startProgram(
  { kube }: Site,
  { name, port }: Program,
  { argv, kubeconfig }: { readonly argv: readonly string[]; readonly kubeconfig: string },
): Promise<ServerControl> {
  const file = join(kube.folder, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig, { mode: 0o600 });
  const [health, metrics] = [await freePort(), await freePort()];
  const control = controlProgram({
    name,
    program: 'env',
    args: [
      ...argv,
      ...['--kubeconfig', file, `--webhook-port=${port}`],
      ...[`--webhook-cert-dir=${join(kube.folder, 'pki')}`, '--webhook-cert-name=serving.crt'],
      ...['--webhook-key-name=serving.key', `--health-addr=127.0.0.1:${health}`],
      ...[`--diagnostics-address=127.0.0.1:${metrics}`, '--insecure-diagnostics=true'],
    ],
    logFile: join(kube.folder, `${name}.log`),
    isReady: async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).ok,
  });
  await control.start();
  return control;
}

async function configureWebhooks(
  { apply, ca }: Site,
  { name, part, port }: Program,
): Promise<void> {
  for (const object of objectsOf(readFileSync(join(part, 'webhooks', `${name}.yaml`), 'utf8'))) {
    const { metadata } = object;
    const named = { ...object, metadata: { ...metadata, name: `${name}-${metadata.name}` } };
    await apply(askedAt(named, { port, ca }));
  }
}

const coreUser = 'capi-core';

/** Applies definitions with the additions of kustomize: the contract labels and the conversion. */
async function define({ kube, ca }: Site, { name, part, port }: Program): Promise<void> {
  const folder = join(part, 'crds', name);
  await applyCrds(kube.client, folder, 'all');
  const labels = {
    [provider]: name === 'core' ? 'cluster-api' : 'infrastructure-docker',
    ...byClusterctl,
    'cluster.x-k8s.io/v1beta1': 'v1beta1',
    'cluster.x-k8s.io/v1beta2': 'v1beta2',
  };
  const caBundle = Buffer.from(ca).toString('base64');
  const clientConfig = { url: `https://127.0.0.1:${port}/convert`, caBundle };
  const webhook = { conversionReviewVersions: ['v1'], clientConfig };
  const change = { metadata: { labels }, spec: { conversion: { strategy: 'Webhook', webhook } } };
  const kind = customResourceDefinitions;
  const names = readdirSync(folder).map((file) => basename(file, '.yaml'));
  await Promise.all(names.map((name) => kube.client.merge({ kind, name }, change)));
}

/**
 * Deletes the objects that clusterctl deletes before it installs a provider's next version: all but
 * its definitions.
 */
async function removeCore({ kube: { client } }: Site): Promise<void> {
  for (const plural of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
    const kind: KubeKind = { group: 'admissionregistration.k8s.io', version: 'v1', plural };
    for (const { metadata } of await client.list({ kind }))
      if (metadata.name.startsWith('core-')) await client.remove({ kind, name: metadata.name });
  }
  await client.remove({ kind: { ...clusterRoles, plural: 'clusterrolebindings' }, name: coreUser });
  for (const { metadata } of await client.list({ kind: clusterRoles }))
    if (metadata.labels?.[provider] === 'cluster-api')
      await client.remove({ kind: clusterRoles, name: metadata.name });
}

/** Gives core the rights of its release, and the rights that roles of providers add. */
async function allowCore({ kube, apply }: Site, part: string): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const [aggregated, own] = ['aggregated_role', 'role'].map(
    (name) => objectsOf(readFileSync(join(part, 'rbac', `${name}.yaml`), 'utf8'))[0],
  );
  if (aggregated === undefined || own === undefined) throw new Error('core has no roles');
  const ofCore = { [provider]: 'cluster-api' };
  await apply({
    ...aggregated,
    metadata: { ...aggregated.metadata, labels: { ...aggregated.metadata.labels, ...ofCore } },
  });
  await apply({
    ...own,
    metadata: {
      ...own.metadata,
      labels: { 'cluster.x-k8s.io/aggregate-to-manager': 'true', ...ofCore },
    },
  });
  const name = aggregated.metadata.name;
  await apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: coreUser },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: rbac, name: coreUser }],
  });
  await found(
    kube.client,
    { kind: clusterRoles, fieldSelector: `metadata.name=${name}` },
    (role) => (role['rules'] as readonly object[] | null)?.length,
  );
}

async function found<T>(
  client: KubeClient,
  selection: KubeSelection,
  find: (object: KubeObject) => T | undefined,
): Promise<T> {
  const signal = AbortSignal.timeout(waitMillis);
  const last = new Map<string, KubeObject>();
  for await (const { type, object } of client.watch(selection, { signal })) {
    if (type === 'ERROR' || type === 'BOOKMARK') continue;
    const answer = type === 'DELETED' ? undefined : find(object);
    if (answer !== undefined) return answer;
    last.set(object.metadata.name, object);
  }
  const seen = [...last.values()].map(renderSeen).join('; ').slice(0, maxSeen);
  throw new Error(
    `${selection.kind.plural}: not seen within ${waitMillis / 1000} s; last: ${seen}`,
  );
}

/** Maximum length of a log excerpt, so that other failures have room beside it. */
const maxSeen = 2000;

/** An object with its conditions that are not True. */
const renderSeen = (object: KubeObject): string => {
  const open = listAt(object, 'status', 'conditions').filter(
    (condition) => !JSON.stringify(condition).includes('"status":"True"'),
  );
  return `${object.metadata.name} ${JSON.stringify(open)}`;
};

async function gone(client: KubeClient, ref: KubeRef): Promise<void> {
  const object = await client.get(ref);
  if (object === undefined) return;
  const signal = AbortSignal.timeout(waitMillis);
  const { resourceVersion = '' } = object.metadata;
  for await (const event of client.watch(ref, { resourceVersion, signal }))
    if (event.type === 'DELETED' && event.object.metadata.name === ref.name) return;
  throw new Error(`${ref.kind.plural} ${ref.name} is not gone: ${JSON.stringify(object.metadata)}`);
}
