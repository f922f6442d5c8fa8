import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { setFlagsFromString } from 'node:v8';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import { serveHealth } from '../../adapters/status-server.ts';
import { systemPorts } from '../../adapters/clock.ts';
import { serveRoutes } from '../../adapters/http-server.ts';
import { bootstrapControllers, type BootstrapOptions } from '../../capi/bootstrap/controller.ts';
import { asConfig } from '../../capi/bootstrap/status.ts';
import { bootstrapStores } from '../../capi/bootstrap/stores.ts';
import { controlPlaneControllers } from '../../capi/control-plane/controllers.ts';
import { controlPlaneStores } from '../../capi/control-plane/view.ts';
import { inventoryRoutes } from '../../capi/inventory/routes.ts';
import { hasSynced, namespaceOf, type ProviderName } from '../../capi/manager.ts';
import type { Environment } from '../../config/environment.ts';
import { flagFailure } from '../../config/failures.ts';
import { type Controller, runControllers } from '../../kube/manager.ts';
import { hostInUrl } from '../../lib/address.ts';
import { notesOf } from '../../engine/events.ts';
import { seconds } from '../../model/duration.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import { commandCredentials, followingCluster } from '../cluster.ts';
import { ownPod } from '../controller.ts';
import { addressIn, type PodCall, runInPod } from '../run-context.ts';

/** Arguments of `capi manager`. */
interface ManagerCall extends PodCall {
  readonly controllers: ProviderName;
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
 * The usual times of a provider (controller-runtime, `leaderelection`): a killed manager is
 * replaced within 15 seconds.
 */
const times = { duration: seconds(15), renewDeadline: seconds(10), retryPeriod: seconds(2) };

/**
 * Runs a provider of Cluster API until a signal stops it. Of several managers, one works, by a
 * lease; all of them serve. Resolves with the exit code of the signal.
 */
export async function runCapiManager(call: ManagerCall): Promise<number> {
  // Half of the heap was garbage: on a large machine V8 lets a heap grow to three times its live
  // size before it collects.
  setFlagsFromString('--heap-growing-percent=25');
  const { environment, kubeconfig, namespace, controllers: provider } = call;
  const health = addressIn('--health-address', call.healthAddress);
  const credentials = await commandCredentials(environment, kubeconfig);
  return runInPod(call, async ({ emit, signal, metrics }) => {
    await using open = new AsyncDisposableStack();
    const kube = followingCluster({ credentials, emit });
    open.defer(kube.close);
    const ports = { ...systemPorts, kube, emit, metrics, namespace };
    const controllers =
      provider === 'bootstrap'
        ? await bootstrapOf(call, open, ports)
        : controlPlaneOf(ports, environment);
    const served = health && (await serveHealth(health, hasSynced(controllers)));
    if (served !== undefined) open.defer(served.close);
    await runControllers(
      { ...ports, signal },
      {
        name: 'capi-manager',
        controllers,
        queueOpened: metrics?.queueOpened,
        lease: {
          lease: `bootwright-${provider}`,
          namespace: ownNamespace(call),
          pod: ownPod(),
          isSingleNode: false,
          times,
        },
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
): Promise<readonly Controller[]> {
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
  return bootstrapControllers({ ...ports, stores, inventoryUrl, ca });
}

/**
 * Reads the authority by which hosts trust the inventory, again for each host: the certificate may
 * be replaced in the folder. Undefined where the authorities of the hosts' systems are enough.
 */
const authorityIn = (folder: string) => async (): Promise<string | undefined> => {
  const bytes = await ifPresent(readFileOf({ at: join(folder, 'ca.crt'), kind: 'authorities' }));
  return bytes?.toString();
};

function controlPlaneOf(ports: ProviderPorts, environment: Environment): readonly Controller[] {
  const { emit } = ports;
  return controlPlaneControllers({
    ...ports,
    stores: controlPlaneStores(ports, ports.namespace),
    ownImage: environment['BOOTWRIGHT_IMAGE'],
    openGuest: (credentials) => followingCluster({ credentials, emit }),
  });
}

const accountNamespace = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/**
 * The namespace of the lease: the namespace of the pod, else the namespace in which the manager
 * works, else the namespace of the provider.
 */
function ownNamespace({ environment, namespace, controllers }: ManagerCall): string {
  const { POD_NAMESPACE = '' } = environment;
  if (POD_NAMESPACE !== '') return POD_NAMESPACE;
  try {
    return readFileSync(accountNamespace, 'utf8').trim();
  } catch {
    return namespace ?? namespaceOf(controllers);
  }
}
