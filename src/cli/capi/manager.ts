import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { setFlagsFromString } from 'node:v8';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import { serveHealth } from '../../adapters/health-server.ts';
import { systemPorts } from '../../adapters/random.ts';
import { serveRoutes } from '../../adapters/http-server.ts';
import { bootstrapControllers, type BootstrapOptions } from '../../capi/bootstrap/controller.ts';
import { asConfig } from '../../capi/bootstrap/status.ts';
import { bootstrapStores } from '../../capi/bootstrap/stores.ts';
import { controlPlaneControllers } from '../../capi/control-plane/controllers.ts';
import { type ControlPlaneStores, controlPlaneStores } from '../../capi/control-plane/view.ts';
import { inventoryRoutes } from '../../capi/inventory/routes.ts';
import {
  hasSynced,
  type Provider,
  type ProviderName,
  providers,
  runProviders,
} from '../../capi/manager.ts';
import type { Environment } from '../../config/environment.ts';
import { flagFailure } from '../../config/failures.ts';
import { hostInUrl } from '../../lib/address.ts';
import { notesOf } from '../../engine/events.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import { commandCredentials, followingCluster } from '../cluster.ts';
import { ownPod } from '../controller.ts';
import { addressIn, type PodCall, runInPod } from '../run-context.ts';

/** Arguments of `capi manager`. */
interface ManagerCall extends PodCall {
  /** Providers, separated by commas. */
  readonly controllers: string;
  /** The one namespace in which the manager handles clusters; all namespaces unless given. */
  readonly namespace?: string;
  readonly inventoryAddress?: string;
  /** URL of the inventory, as hosts reach it. */
  readonly inventoryUrl?: string;
  /** Folder with `tls.crt`, `tls.key` and, if hosts need it to trust the certificate, `ca.crt`. */
  readonly certificateFolder?: string;
  readonly healthAddress?: string;
}

/**
 * Runs providers of Cluster API until a signal stops them. Of several managers, one works, by a
 * lease for each provider; all of them serve. Resolves with the exit code of the signal.
 */
export async function runCapiManager(call: ManagerCall): Promise<number> {
  // Half of the heap was garbage: on a large machine V8 lets a heap grow to three times its live
  // size before it collects.
  setFlagsFromString('--heap-growing-percent=25');
  const { environment, kubeconfig, namespace } = call;
  const names = providersIn(call.controllers);
  const health = addressIn('--health-address', call.healthAddress);
  const credentials = await commandCredentials(environment, kubeconfig);
  return runInPod(call, async ({ emit, signal, metrics }) => {
    await using open = new AsyncDisposableStack();
    const kube = followingCluster({ credentials, emit });
    open.defer(kube.close);
    const ports = { ...systemPorts, kube, emit, metrics, namespace };
    const providers: Provider[] = [];
    if (names.includes('bootstrap')) providers.push(await bootstrapOf(call, open, ports));
    const stores = controlPlaneStores(ports, namespace);
    if (names.includes('control-plane')) providers.push(controlPlaneOf(ports, environment, stores));
    const served = health && (await serveHealth(health, hasSynced(providers)));
    if (served !== undefined) open.defer(served.close);
    await runProviders(
      { ...ports, signal },
      {
        providers,
        namespace: ownNamespace(call),
        pod: ownPod(),
        queueOpened: metrics?.queueOpened,
      },
    );
  });
}

interface ProviderPorts extends Pick<BootstrapOptions, 'kube' | 'clock' | 'random' | 'emit'> {
  readonly namespace: string | undefined;
  readonly metrics: ManagerMetrics | undefined;
}

/** The bootstrap provider, with the inventory to which its hosts report. */
async function bootstrapOf(
  call: ManagerCall,
  open: AsyncDisposableStack,
  { namespace, ...ports }: ProviderPorts,
): Promise<Provider> {
  const listen = addressIn('--inventory-address', call.inventoryAddress);
  const { certificateFolder } = call;
  // The template of the providers has one placeholder for both a name and an address.
  const inventoryUrl = (call.inventoryUrl ?? '').replace(/(?<=^https?:\/\/)[^/]+/, hostInUrl);
  if (listen === undefined || !/^https?:\/\//.test(inventoryUrl) || !URL.canParse(inventoryUrl)) {
    const message = '--controllers bootstrap needs --inventory-address and --inventory-url';
    throw flagFailure('cli.bad-flag', message, {
      hint: 'write --inventory-address :8443 --inventory-url https://HOST:8443, where hosts reach HOST',
    });
  }
  const stores = bootstrapStores(ports, namespace);
  ports.metrics?.countHosts(() => stores.configs.all().map(asConfig));
  const folder = certificateFolder === undefined ? {} : { certificateFolder };
  const note = notesOf(ports.emit, 'bootstrap/serve-inventory');
  const served = { listen, routes: inventoryRoutes({ ...ports, stores }), ...folder };
  const { close } = await serveRoutes(served, note);
  open.defer(close);
  const ca = certificateFolder === undefined ? undefined : authorityIn(certificateFolder);
  const name = 'bootstrap' as const;
  return { name, controllers: bootstrapControllers({ ...ports, stores, inventoryUrl, ca }) };
}

/**
 * Reads the authority by which hosts trust the inventory, again for each host: the certificate may
 * be replaced in the folder. Undefined where the authorities of the hosts' systems are enough.
 */
const authorityIn = (folder: string) => async (): Promise<string | undefined> => {
  const bytes = await ifPresent(readFileOf({ at: join(folder, 'ca.crt'), kind: 'authorities' }));
  return bytes?.toString();
};

function controlPlaneOf(
  ports: ProviderPorts,
  environment: Environment,
  stores: ControlPlaneStores,
): Provider {
  const { emit } = ports;
  const controllers = controlPlaneControllers({
    ...ports,
    stores,
    ownImage: environment['BOOTWRIGHT_IMAGE'],
    openGuest: (credentials) => followingCluster({ credentials, emit }),
  });
  return { name: 'control-plane', controllers };
}

/** @throws AgentError `cli.bad-flag` */
function providersIn(text: string): readonly ProviderName[] {
  const words = text.split(',').map((word) => word.trim());
  const names = providers.filter((name) => words.includes(name));
  const wrong = words.find((word) => !providers.some((name) => name === word));
  if (wrong === undefined) return names;
  const what = `--controllers: there is no provider ${JSON.stringify(wrong)}`;
  throw flagFailure('cli.bad-flag', what, {
    hint: `write ${providers.join(', ')}, or both with a comma between`,
  });
}

const accountNamespace = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/**
 * The namespace of the leases: the namespace of the pod, else the namespace in which the manager
 * works, else the namespace of each provider.
 */
function ownNamespace({ environment, namespace }: ManagerCall): string | undefined {
  const { POD_NAMESPACE = '' } = environment;
  if (POD_NAMESPACE !== '') return POD_NAMESPACE;
  try {
    return readFileSync(accountNamespace, 'utf8').trim();
  } catch {
    return namespace;
  }
}
