import { secrets as secretKind } from '../../cluster/kinds.ts';
import { partOf } from '../../layering/api/cluster-object.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName, type BootstrapConfigSpec } from '../api.ts';
import type { DataSecretVerdict } from './conditions.ts';
import { givenHints } from '../../lib/disk-hints.ts';
import { keyfileProblems } from '../../lib/keyfiles.ts';
import type { MachineInput } from './machine-ignition.ts';
import { type ConfigView, roleOf } from './stores.ts';
import { secretText } from '../objects.ts';

/** Where agents find the inventory, and by which certificate. */
export interface InventoryAddress {
  readonly inventoryUrl: string;
  /** PEM; undefined where the authorities of the host's own system are enough. */
  readonly ca: string | undefined;
}

/** What the Ignition of a host is made of, or what is missing for it. */
export type ReadInputs = { readonly input: MachineInput } | { readonly missing: DataSecretVerdict };

interface Reading {
  readonly kube: Pick<Kube, 'get'>;
  readonly view: ConfigView;
  readonly signal: AbortSignal;
}

/** Thrown inside, so that what is missing is named where it is looked for. */
class Missing extends Error {
  readonly verdict: DataSecretVerdict;

  constructor(reason: string, message: string) {
    super(message);
    this.verdict = { reason, message };
  }
}

/** Reads all that the Ignition of a host is made of. */
export async function readHostInputs(
  reading: Reading,
  { address, token }: { readonly address: InventoryAddress; readonly token: string },
): Promise<ReadInputs> {
  try {
    return { input: await inputOf(reading, address, token) };
  } catch (error) {
    if (error instanceof Missing) return { missing: error.verdict };
    throw error;
  }
}

async function inputOf(
  reading: Reading,
  address: InventoryAddress,
  ownToken: string,
): Promise<MachineInput> {
  const { config, machine, cluster } = reading.view;
  const { spec } = config;
  const role = roleOf(machine);
  const release = await releaseOf(reading);
  const served = {
    inventoryUrl: address.inventoryUrl,
    ...{ inventoryCa: address.ca, token: ownToken },
    clusterId: cluster.metadata.uid ?? '',
    infraEnvId: cluster.metadata.uid ?? '',
  };
  return {
    ...(spec.inventory?.mode === 'External' ? await externalInventory(reading) : served),
    ...{ role, hostId: config.metadata.uid ?? '', ...release },
    ...{ agentImage: spec.agent.image, agentArgs: spec.agent.args },
    ...{ installDevice: spec.installDevice, rootDeviceHints: spec.rootDeviceHints },
    kernelArguments: spec.kernelArguments,
    ...{ proxy: spec.proxy, sshAuthorizedKeys: spec.sshAuthorizedKeys },
    ...{ trustBundle: spec.additionalTrustBundle, registries: spec.registries },
    override: spec.ignitionConfigOverride,
    pullSecret: await pullSecretOf(reading),
    keyfiles: await keyfilesOf(reading),
  };
}

type ReleaseInput = Pick<
  MachineInput,
  'openshiftVersion' | 'controlPlaneCount' | 'mcoImage' | 'existingRoot'
>;

/** What only the control plane knows. A worker waits for nothing of it, unless its own system is to come from it. */
async function releaseOf(reading: Reading): Promise<ReleaseInput> {
  const { config, machine, controlPlane } = reading.view;
  const { osImage, writeMode } = config.spec;
  const isWorker = roleOf(machine) === 'worker';
  const given = writeMode === 'ExistingRoot' ? osImage : '';
  const root = (image: string | undefined) => (image === '' ? {} : { existingRoot: image });
  if (isWorker && given !== undefined) return root(given);
  if (controlPlane === undefined)
    throw new Missing('WaitingForControlPlane', 'the Cluster has no control plane yet');
  const name = assetsSecretName(controlPlane.metadata.name);
  const assets = await secretNamed(reading, name);
  if (assets === undefined)
    throw new Missing('WaitingForAssets', `Secret ${name} is not there yet`);
  const image = given ?? secretValue(assets, assetKeys.coreOsImage);
  if (image === undefined)
    throw new Missing('OSImageUnknown', `set osImage: Secret ${name} names no image of CoreOS`);
  if (isWorker) return root(image);
  const { distributionVersion, replicas = 3 } = controlPlane.spec;
  const mcoImage = secretValue(assets, assetKeys.mcoImage);
  const release = { openshiftVersion: distributionVersion, controlPlaneCount: replicas, mcoImage };
  return { ...root(image), ...release };
}

async function externalInventory(reading: Reading) {
  const { view } = reading;
  const { inventory = {} } = view.config.spec;
  const { url, tokenSecretRef, clusterId, infraEnvId } = inventory;
  const uid = view.cluster.metadata.uid ?? '';
  if (url === undefined) throw new Missing('InventoryUnknown', 'inventory.url is not set');
  const token = await required(reading, tokenSecretRef?.name ?? '', {
    key: 'token',
    reason: 'InventoryTokenNotFound',
  });
  const id = clusterId ?? uid;
  return {
    ...{ inventoryUrl: url, token, clusterId: id, infraEnvId: infraEnvId ?? id },
    inventoryCa: undefined,
  };
}

const pullSecretOf = (reading: Reading): Promise<string> | undefined => {
  const name = reading.view.config.spec.pullSecretRef?.name;
  return name === undefined
    ? undefined
    : required(reading, name, { key: '.dockerconfigjson', reason: 'PullSecretNotFound' });
};

async function required(
  reading: Reading,
  name: string,
  { key, reason }: { readonly key: string; readonly reason: string },
): Promise<string> {
  const secret = name === '' ? undefined : await secretNamed(reading, name);
  const text = secret && secretValue(secret, key);
  if (text === undefined) throw new Missing(reason, `Secret ${name} has no ${key}`);
  return text;
}

/** Of a file in `system-connections`: NetworkManager reads what ends so, and no name leads out of the folder. */
const keyfileName = /^[\w.-]+\.nmconnection$/;

/**
 * The keyfiles for a Machine: `NAME.nmconnection` is for all hosts, which tell them apart by the address of an interface,
 * `MACHINE_NAME.nmconnection` for that Machine, in place of one for all with this name; the name of a Machine has no underscore.
 */
async function keyfilesOf(reading: Reading): Promise<MachineInput['keyfiles']> {
  const name = reading.view.config.spec.networkSecretRef?.name;
  if (name === undefined) return undefined;
  const secret = await secretNamed(reading, name);
  if (secret === undefined)
    throw new Missing('NetworkSecretNotFound', `there is no Secret ${name}`);
  const own = `${reading.view.machine.metadata.name}_`;
  const keys = Object.keys(dataOf(secret)).filter((key) => keyfileName.test(key));
  // Those of the Machine come last: one takes the place of that for all hosts with its name.
  const chosen = [
    ...keys.filter((key) => !key.includes('_')),
    ...keys.filter((key) => key.startsWith(own)),
  ];
  const files = new Map(
    chosen.map((key) => [
      key.startsWith(own) ? key.slice(own.length) : key,
      secretValue(secret, key) ?? '',
    ]),
  );
  const problems = files.size === 0 ? [] : keyfileProblems(files);
  if (problems.length > 0)
    throw new Missing('NetworkSecretInvalid', `Secret ${name}: ${problems.join('; ')}`);
  return Object.fromEntries(files);
}

const secretNamed = (
  { kube, view, signal }: Reading,
  name: string,
): Promise<KubeObject | undefined> => {
  const { namespace = '' } = view.config.metadata;
  return kube.get({ kind: secretKind, namespace, name }, signal);
};

const dataOf = (secret: KubeObject): Readonly<Record<string, unknown>> =>
  Object(partOf(secret, 'data')) as Readonly<Record<string, unknown>>;

/** A text of a Secret; undefined if absent or empty. */
export function secretValue(secret: KubeObject, key: string): string | undefined {
  const text = secretText(secret, key);
  return text === '' ? undefined : text;
}

/** Whether the spec of a config names all that its host needs; what is wrong with it otherwise. */
export function specVerdict({ writeMode, installDevice, rootDeviceHints }: BootstrapConfigSpec) {
  const hasHints = givenHints(rootDeviceHints ?? {}).length > 0;
  if (writeMode === 'ExistingRoot' || hasHints !== ((installDevice ?? '') !== '')) return undefined;
  const message = 'set one of installDevice and rootDeviceHints, or writeMode: ExistingRoot';
  return { reason: hasHints ? 'InstallDeviceAmbiguous' : 'InstallDeviceMissing', message };
}
