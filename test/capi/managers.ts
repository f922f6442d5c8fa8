import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { KubeUser } from '../../mocks/kube/pki.ts';
import { controlProgram, freePort, type ServerControl } from '../../mocks/kube/program.ts';
import type { AuditedRequest } from '../../mocks/kube/start.ts';
import { leaseFailures } from '../../src/kube/lease.ts';
import type { PolicyRule } from '../../src/layering/manifests/service-account.ts';
import { exitCodes } from '../../src/model/failure.ts';
import { unusedPermissions } from '../kube/permissions.ts';
import { clusterRoles } from '../kube/cluster-access.ts';
import { deployedObjects, type Management } from './management.ts';

/**
 * A provider of this project as a process from the sources, with only the rights of its own
 * account.
 */
export interface Manager extends ServerControl {
  readonly provider: ProviderRun['provider'];
  /** Port of its inventory, and the authority of its certificate. */
  readonly inventory: { readonly port: number; readonly ca: string };
  /** The metrics it serves to Prometheus. */
  readonly metrics: () => Promise<string>;
  /** Its requests to the API server. */
  readonly asked: () => Promise<readonly AuditedRequest[]>;
  /** Its requests that the API server refused. */
  readonly refused: () => Promise<readonly string[]>;
  /** Rules of its cluster role that it has not used. */
  readonly unused: () => Promise<readonly string[]>;
}

interface ProviderRun {
  readonly provider: 'bootstrap' | 'control-plane';
  /** URL of the inventory for hosts; default: the manager itself. */
  readonly inventoryUrl?: string;
  /** Command of the program; default: from the sources. */
  readonly program?: readonly string[];
  /** User for the API server; default: the manager's account. */
  readonly as?: KubeUser;
  /** The one namespace in which it works and has rights. */
  readonly within?: string;
}

const fromSources = [process.execPath, resolve(import.meta.dirname, '../../src/main.ts')];

/** The cluster role of a provider in its files. */
const roleOf = (provider: Manager['provider']): readonly PolicyRule[] =>
  (
    deployedObjects().find(
      ({ kind, metadata }) =>
        kind === 'ClusterRole' && metadata.name === `${provider}-bootwright-manager`,
    ) as { readonly rules?: readonly PolicyRule[] } | undefined
  )?.rules ?? [];

/**
 * Gives the account of a provider its rules in the one namespace; only the rules about
 * cluster-scoped definitions hold everywhere.
 */
export async function confine(
  { client, apply }: Pick<Management, 'client' | 'apply'>,
  provider: Manager['provider'],
  namespace: string,
): Promise<void> {
  const [name, group] = [`${provider}-bootwright-manager`, 'rbac.authorization.k8s.io'];
  const isOfNone = ({ resources }: PolicyRule): boolean =>
    resources.includes('customresourcedefinitions');
  const rules = roleOf(provider);
  await client.merge({ kind: clusterRoles, name }, { rules: rules.filter(isOfNone) });
  const object = { apiVersion: `${group}/v1`, metadata: { name, namespace } };
  await apply({ ...object, kind: 'Role', rules: rules.filter((rule) => !isOfNone(rule)) });
  await apply({
    ...object,
    kind: 'RoleBinding',
    roleRef: { apiGroup: group, kind: 'Role', name },
    subjects: [
      { kind: 'ServiceAccount', namespace: `bootwright-${provider}-system`, name: 'manager' },
    ],
  });
}

/**
 * Starts the manager of a provider whose files are applied; the arguments are added to those of its
 * Deployment.
 */
export async function startManager(
  { kube }: Pick<Management, 'kube'>,
  { provider, inventoryUrl, program = fromSources, as, within }: ProviderRun,
): Promise<Manager> {
  const namespace = `bootwright-${provider}-system`;
  const folder = join(kube.folder, provider);
  await mkdir(folder, { recursive: true });
  const pki = join(kube.folder, 'pki');
  await copyFile(join(pki, 'serving.crt'), join(folder, 'tls.crt'));
  await copyFile(join(pki, 'serving.key'), join(folder, 'tls.key'));
  await copyFile(join(pki, 'ca.crt'), join(folder, 'ca.crt'));
  const kubeconfig = join(folder, 'kubeconfig');
  const user = as ?? { namespace, serviceAccount: 'manager' };
  await writeFile(kubeconfig, await kube.kubeconfigFor({ user, server: kube.url }));
  const ports = {
    inventory: await freePort(),
    health: await freePort(),
    metrics: await freePort(),
  };
  const at = (port: number): string => `127.0.0.1:${port}`;
  const control = controlProgram({
    name: provider,
    program: 'env',
    args: [
      'BOOTWRIGHT_IMAGE=registry.example/bootwright:latest',
      `POD_NAMESPACE=${namespace}`,
      ...[...program, 'capi', 'manager', '--controllers', provider, '--kubeconfig', kubeconfig],
      ...['--health-address', at(ports.health), '--metrics', at(ports.metrics)],
      ...(within === undefined ? [] : ['--namespace', within]),
      ...(provider === 'bootstrap'
        ? [
            ...['--inventory-address', at(ports.inventory), '--certificate-folder', folder],
            ...['--inventory-url', inventoryUrl ?? `https://${at(ports.inventory)}`],
          ]
        : []),
    ],
    logFile: join(kube.folder, `${provider}.log`),
    isReady: async () => (await fetch(`http://${at(ports.health)}/readyz`)).ok,
    // A machine that stalls for ten seconds takes its lease from it.
    restartsAfter: exitCodes[leaseFailures['controller.lease-lost'].kind],
  });
  await control.start();
  const asked = () => kube.audited(as?.name ?? `system:serviceaccount:${namespace}:manager`);
  return {
    ...control,
    provider,
    asked,
    inventory: { port: ports.inventory, ca: readFileSync(join(pki, 'ca.crt'), 'utf8') },
    metrics: async () => (await fetch(`http://${at(ports.metrics)}/metrics`)).text(),
    unused: async () => unusedPermissions(await asked(), { '': roleOf(provider) }),
    refused: async () => {
      const forbidden = (await asked()).filter(({ status }) => status === 403);
      return forbidden.map(({ verb, group, resource }) => `${verb} ${group} ${resource}`);
    },
  };
}

/** Applies the files of both providers, and starts their managers as the files say. */
export async function startManagers(management: Management): Promise<readonly Manager[]> {
  await management.deploy();
  return Promise.all([
    startManager(management, { provider: 'bootstrap' }),
    startManager(management, { provider: 'control-plane' }),
  ]);
}
