import { nearestName } from '../lib/nearest.ts';
import type { AgentError } from '../model/failure.ts';
import {
  configFailure,
  noDryRun,
  notNotified,
  raise,
  type Refuse,
  whatToWrite,
} from './failures.ts';
import { goBoolean, readValue } from './read-value.ts';
import {
  type SettingValue,
  type Layer,
  removedSettings,
  type SettingKey,
  settingKeys,
} from './settings.ts';

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'BOOTWRIGHT_';

/** The name of a setting's variable: BOOTWRIGHT_CLUSTER_INFRA_ENV_ID for `cluster.infraEnvId`. */
export const variableOf = (key: string): string =>
  prefix +
  key
    .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    .replace('.', '_')
    .toUpperCase();

/** The origin of a value from a variable, for messages: `environment BOOTWRIGHT_ROLE`. */
export const variableOrigin = (name: string): string => `environment ${name}`;

/**
 * The settings of BOOTWRIGHT_* variables; an empty variable counts as not set.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `config.unknown-variable`
 */
export function environmentLayer(environment: Environment, refuse: Refuse = raise): Layer {
  const keys = new Map(settingKeys.map((key) => [variableOf(key), key]));
  const layer = new Map<SettingKey, SettingValue>();
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || text === undefined || text === '') continue;
    const key = keys.get(name);
    if (key === undefined) {
      refuse(unknownVariable(name, keys.keys()));
      continue;
    }
    const origin = variableOrigin(name);
    layer.set(key, { value: readValue(key, text), origin });
  }
  return layer;
}

function unknownVariable(name: string, known: Iterable<string>): AgentError {
  const [, instead] =
    Object.entries(removedSettings).find(([key]) => variableOf(key) === name) ?? [];
  return configFailure(
    'config.unknown-variable',
    `environment ${name}: ${instead === undefined ? 'unknown variable' : 'the setting was removed'}`,
    { hint: whatToWrite(instead, nearestName(name, known)), context: { variable: name } },
  );
}

/**
 * Variables that hold the unchanged value of a setting; of two variables the first that is set
 * wins.
 */
const plainVariables: readonly (readonly [SettingKey, readonly string[]])[] = [
  ['service.token', ['PULL_SECRET_TOKEN']],
  ['s3.accessKeyId', ['AWS_ACCESS_KEY_ID']],
  ['s3.secretAccessKey', ['AWS_SECRET_ACCESS_KEY']],
  ['s3.region', ['AWS_REGION', 'AWS_DEFAULT_REGION']],
  ['proxy.http', ['HTTP_PROXY', 'http_proxy']],
  ['proxy.https', ['HTTPS_PROXY', 'https_proxy']],
  ['proxy.no', ['NO_PROXY', 'no_proxy']],
];

/**
 * In these variables a proxy may lack the scheme, `proxy.example:3128`
 * (golang.org/x/net/http/httpproxy).
 */
const withScheme = (key: SettingKey, text: string): string =>
  /^proxy\.https?$/.test(key) && !text.includes('://') ? `http://${text}` : text;

/**
 * The settings of other programs' variables: the token of the service, the credentials of an object
 * store, and proxies.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `config.invalid-value` if a dry run is requested
 */
export function knownVariablesLayer(environment: Environment, refuse: Refuse = raise): Layer {
  const layer = new Map<SettingKey, SettingValue>();
  for (const [key, names] of plainVariables) {
    const name = names.find((candidate) => isSet(environment[candidate]));
    if (name === undefined) continue;
    const origin = variableOrigin(name);
    const text = withScheme(key, environment[name] ?? '');
    layer.set(key, { value: readValue(key, text), origin });
  }
  if (isSet(environment['NOTIFY_SOCKET'])) refuse(notNotified());
  for (const name of ['DRYCONFIG_DRY_ENABLE', 'DRY_ENABLE']) {
    const text = environment[name];
    if (isSet(text) && goBoolean(text ?? '') !== false) {
      refuse(noDryRun(variableOrigin(name), 'unset it'));
    }
  }
  return layer;
}

/** Whether a variable has a value; an empty one counts as not set. */
export const isSet = (text: string | undefined): boolean => text !== undefined && text !== '';

/**
 * Variables that the controller requires from its job (assisted-installer-controller,
 * `ControllerConfig`).
 */
export const requiredOfController = ['CLUSTER_ID', 'INVENTORY_URL', 'OPENSHIFT_VERSION'] as const;

/**
 * A variable of the controller's job, with its name; the one with the prefix wins. Undefined if
 * neither is set.
 */
export function controllerVariable(
  environment: Environment,
  name: string,
): readonly [string, string] | undefined {
  const names = [`MYAPP_CONTROLLERCONFIG_${name}`, name];
  const set = names.find((candidate) => isSet(environment[candidate]));
  return set === undefined ? undefined : [set, environment[set] ?? ''];
}

/** Whether the environment is the controller's job, which runs the image without arguments. */
export const isControllerEnvironment = (environment: Environment): boolean =>
  requiredOfController.every((name) => controllerVariable(environment, name) !== undefined);
