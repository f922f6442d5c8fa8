import { secrets as secretKind } from '../../kube/kinds.ts';
import { addressReadFrom, addressRule } from '../../lib/address.ts';
import { isLabelKey, isLabelValue } from '../../layering/api/schema.ts';
import { partOf } from '../../kube/object.ts';
import { keyfileProblems } from '../../settings/keyfiles.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName, type BootstrapConfigSpec } from '../api.ts';
import { isControlledBy, secretText } from '../objects.ts';
import type { MachineInput } from './ignition.ts';
import type { ConfigView } from './stores.ts';

/** The objects from which the input of a host is read. */
interface Reading {
  readonly kube: Pick<Kube, 'get'>;
  readonly view: ConfigView;
  /** Names of the Machines of the Cluster. */
  readonly machines: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** A missing input of a host, for the condition of its config. */
export class Missing extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Labels with which a kubelet starts, of those in the domains of Kubernetes (kubernetes,
 * `cmd/kubelet/app/options`, ValidateKubeletFlags, and `well_known_labels.go`), with the roles that
 * OpenShift adds (openshift/kubernetes, `well_known_openshift_labels.go`).
 */
const ofKubelet = new RegExp(
  [
    String.raw`^(?:.+\.)?(?:kubelet|node)\.kubernetes\.io/`,
    String.raw`^node-role\.kubernetes\.io/(?:control-plane|master|worker|arbiter|etcd)$`,
    String.raw`^(?:topology|failure-domain\.beta)\.kubernetes\.io/(?:region|zone)$`,
    String.raw`^(?:beta\.)?kubernetes\.io/(?:arch|os|hostname|instance-type)$`,
  ].join('|'),
);

const isRegistered = (key: string): boolean =>
  ofKubelet.test(key) || !/^(?:.+\.)?(?:kubernetes|k8s)\.io\//.test(key);

/**
 * Checks the labels of a node before its disk is written: the kubelet would not start with invalid
 * labels. A variable that the host resolves counts as a letter.
 * @throws Missing
 */
export function requireLabels({ nodeRegistration }: BootstrapConfigSpec): void {
  const invalid = Object.entries(nodeRegistration?.labels ?? {})
    .filter(
      ([key, value]) =>
        !isLabelKey(key) || !isLabelValue(value.replaceAll(/\$METADATA_(?:UUID|NAME)/g, 'a')),
    )
    .map(([key]) => key);
  if (invalid.length > 0)
    throw new Missing(
      'NodeLabelsInvalid',
      `nodeRegistration.labels: not valid as labels: ${invalid.join(', ')}`,
    );
  const refused = Object.keys(nodeRegistration?.labels ?? {}).filter((key) => !isRegistered(key));
  if (refused.length > 0)
    throw new Missing(
      'NodeLabelsInvalid',
      `nodeRegistration.labels: the kubelet does not start with ${refused.join(', ')}: set them with oc label once the node has joined`,
    );
}

/**
 * Reads the inputs of a host's Ignition.
 * @param own the inventory of this provider, unless the config names another
 * @throws Missing
 */
export async function readMachineInput(
  reading: Reading,
  own: Pick<MachineInput, 'inventoryUrl' | 'inventoryCa' | 'token'>,
): Promise<MachineInput> {
  const { config, cluster, role } = reading.view;
  const { spec, metadata } = config;
  const { uid: clusterId = '' } = cluster.metadata;
  return {
    role,
    spec,
    hostId: metadata.uid ?? '',
    ...(await releaseOf(reading)),
    ...(spec.inventory?.mode === 'External'
      ? await externalInventory(reading)
      : { ...own, clusterId, infraEnvId: clusterId }),
    pullSecret:
      spec.pullSecretRef &&
      (await required(reading, spec.pullSecretRef.name, '.dockerconfigjson', 'PullSecretNotFound')),
    keyfiles: await keyfilesOf(reading),
  };
}

/**
 * Inputs that only the control plane has. A worker does not wait for them, unless its operating
 * system comes from the release.
 */
async function releaseOf(
  reading: Reading,
): Promise<
  Pick<MachineInput, 'existingRoot' | 'openshiftVersion' | 'controlPlaneCount' | 'mcoImage'>
> {
  const { config, role, controlPlane } = reading.view;
  const { osImage, writeMode } = config.spec;
  const isWorker = role === 'worker';
  const isDisk = writeMode !== 'ExistingRoot';
  if (isWorker && (isDisk || osImage !== undefined))
    return { existingRoot: isDisk ? undefined : osImage };
  if (controlPlane === undefined)
    throw new Missing('WaitingForControlPlane', 'the Cluster has no control plane yet');
  const name = assetsSecretName(controlPlane.metadata.name);
  const assets = await secretNamed(reading, name);
  if (assets === undefined || !isControlledBy(assets, controlPlane.metadata.uid))
    throw new Missing('WaitingForAssets', `Secret ${name} of its control plane is not there yet`);
  const existingRoot = isDisk ? undefined : (osImage ?? secretText(assets, assetKeys.coreOsImage));
  if (!isDisk && existingRoot === undefined)
    throw new Missing('OSImageUnknown', `set osImage: Secret ${name} names no image of CoreOS`);
  if (isWorker) return { existingRoot };
  const { distributionVersion, replicas = 3 } = controlPlane.spec;
  return {
    existingRoot,
    openshiftVersion: distributionVersion,
    controlPlaneCount: replicas,
    mcoImage: secretText(assets, assetKeys.mcoImage),
  };
}

async function externalInventory(reading: Reading) {
  const { config } = reading.view;
  // The definition of the config requires all but `infraEnvId`.
  const { url = '', tokenSecretRef, clusterId = '', infraEnvId } = config.spec.inventory ?? {};
  if (!URL.canParse(url)) throw new Missing('InventoryUnknown', 'inventory.url is no URL');
  const address = addressReadFrom(url);
  if (address !== undefined)
    throw new Missing(
      'InventoryUnknown',
      `inventory.url leads to ${address}; write ${addressRule}`,
    );
  return {
    inventoryUrl: url,
    token: await required(reading, tokenSecretRef?.name ?? '', 'token', 'InventoryTokenNotFound'),
    clusterId,
    infraEnvId: infraEnvId ?? clusterId,
  };
}

async function required(
  reading: Reading,
  name: string,
  key: string,
  reason: string,
): Promise<string> {
  const text = secretText(await secretNamed(reading, name), key);
  if (text === undefined) throw new Missing(reason, `Secret ${name} has no ${key}`);
  return text;
}

/**
 * A file name in `system-connections`: NetworkManager reads files with this suffix, and the name
 * cannot leave the folder.
 */
const keyfileName = /^[\w.-]+\.nmconnection$/;

/**
 * The keyfiles for a Machine. `NAME.nmconnection` is for all hosts, which distinguish them by the
 * address of an interface. `MACHINE_NAME.nmconnection` is for that Machine and replaces the general
 * file of this name; the name of a Machine has no underscore. A key for no host is refused, as the
 * host would boot without the network that it describes.
 */
async function keyfilesOf(reading: Reading): Promise<MachineInput['keyfiles']> {
  const name = reading.view.config.spec.networkSecretRef?.name;
  if (name === undefined) return undefined;
  const secret = await secretNamed(reading, name);
  if (secret === undefined)
    throw new Missing('NetworkSecretNotFound', `there is no Secret ${name}`);
  const own = `${reading.view.machine.metadata.name}_`;
  const keys = Object.keys(Object(partOf(secret, 'data')) as object);
  const others = keys.filter((key) => {
    const [machine = '', ...rest] = key.split('_');
    return !keyfileName.test(key) || (rest.length > 0 && !reading.machines.has(machine));
  });
  if (others.length > 0) {
    const message = `Secret ${name}: no host takes ${others.join(', ')}; write NAME.nmconnection without an underscore for all hosts, or MACHINE_NAME.nmconnection for a Machine of the Cluster`;
    throw new Missing('NetworkSecretInvalid', message);
  }
  // The Machine's own files come last, so that each replaces the general file of its name.
  const files = new Map<string, string>();
  for (const key of keys) if (!key.includes('_')) files.set(key, secretText(secret, key) ?? '');
  for (const key of keys)
    if (key.startsWith(own)) files.set(key.slice(own.length), secretText(secret, key) ?? '');
  const problems = files.size === 0 ? [] : keyfileProblems(files);
  if (problems.length > 0)
    throw new Missing('NetworkSecretInvalid', `Secret ${name}: ${problems.join('; ')}`);
  return files;
}

const secretNamed = (
  { kube, view, signal }: Reading,
  name: string,
): Promise<KubeObject | undefined> => {
  const { namespace = '' } = view.config.metadata;
  return kube.get({ kind: secretKind, namespace, name }, signal);
};
