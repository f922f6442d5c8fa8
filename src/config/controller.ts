import { readFile } from 'node:fs/promises';
import {
  controllerVariable,
  type Environment,
  requiredOfController,
  variableOrigin,
} from './environment.ts';
import { ifPresent } from '../adapters/file-access.ts';
import { configFailure } from './failures.ts';
import { notRead } from './files.ts';
import { Secret } from '../model/secret.ts';
import { checkConfig, type CheckedConfig } from './load.ts';
import { readValue } from './read-value.ts';
import type { SettingValue, Layer, SettingKey } from './settings.ts';

/** The settings of the controller. */
export interface ControllerSettings extends CheckedConfig {
  /** The namespace of the controller. */
  readonly namespace: string;
}

/**
 * The variables of the controller's job, required ones first (assisted-installer-controller,
 * `ControllerConfig`).
 */
const variables = {
  CLUSTER_ID: 'cluster.id',
  INVENTORY_URL: 'service.url',
  OPENSHIFT_VERSION: 'cluster.openshiftVersion',
  SKIP_CERT_VERIFICATION: 'service.insecure',
  CA_CERT_PATH: 'service.caFile',
  CONTROL_PLANE_COUNT: 'cluster.controlPlaneCount',
  CHECK_CLUSTER_VERSION: 'controller.checkClusterVersion',
  MUST_GATHER_IMAGE: 'images.mustGather',
  NOTIFY_NUM_REBOOTS: 'controller.notifyNumReboots',
} as const satisfies Readonly<Record<string, SettingKey>>;

/**
 * Reads the settings of the controller from the variables of its job and from the file with its
 * token, `path`. An empty variable counts as not set. Without `INVENTORY_URL` there is no service.
 * @throws AgentError `config.incomplete`, `config.invalid-value`, `config.file-not-read`
 */
export async function readControllerSettings(
  environment: Environment,
  path: string,
): Promise<ControllerSettings> {
  const isSet = (name: string): boolean => controllerVariable(environment, name) !== undefined;
  // Without a service, the controller needs no other variable about its cluster.
  const required = isSet('INVENTORY_URL') ? requiredOfController : ['OPENSHIFT_VERSION'];
  const missing = required.filter((name) => !isSet(name));
  if (missing.length > 0) {
    throw configFailure('config.incomplete', `${missing.join(', ')} is not set`, {
      hint: 'set it in the job of the controller; see docs/controller.md',
    });
  }
  const layer = new Map<SettingKey, SettingValue>([
    ['cluster.controlPlaneCount', { value: 3, origin: 'default' }],
    ['service.token', await readToken(environment, path)],
  ]);
  for (const [name, key] of Object.entries(variables)) {
    const found = controllerVariable(environment, name);
    if (found === undefined) continue;
    const origin = variableOrigin(found[0]);
    layer.set(key, { value: readValue(key, found[1]), origin });
  }
  const namespace = controllerVariable(environment, 'NAMESPACE')?.[1] ?? 'assisted-installer';
  return { ...checkConfig([layer satisfies Layer]), namespace };
}

/**
 * The present token in the file: the kubelet updates the file from its Secret. Undefined if the
 * file is missing or unreadable.
 */
export async function renewedToken(path: string): Promise<Secret | undefined> {
  const text = await ifPresent(readFile(path, 'utf8')).catch(() => undefined);
  return text === undefined ? undefined : new Secret(text.trim());
}

/**
 * The token in the file; the token in the variable only if the file does not exist. Empty without
 * either.
 */
async function readToken(environment: Environment, path: string): Promise<SettingValue> {
  const text = await ifPresent(readFile(path, 'utf8')).catch(notRead(path));
  const [name, token] = controllerVariable(environment, 'PULL_SECRET_TOKEN') ?? [
    'PULL_SECRET_TOKEN',
    '',
  ];
  const origin = text === undefined ? variableOrigin(name) : `file ${path}`;
  return { value: readValue('service.token', (text ?? token).trim()), origin };
}
