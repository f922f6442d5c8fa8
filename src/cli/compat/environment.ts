import type { SettingKey } from '../../config/keys.ts';
import { type Environment, variableOrigin } from '../../config/environment.ts';
import { type Given, type Layer, textIn } from '../../config/layer.ts';
import { goBoolean, invalid, readValue } from '../../config/read-value.ts';

/** Variables that give a setting as they stand; of two the first that is set wins. */
const plainVariables: readonly (readonly [SettingKey, readonly string[]])[] = [
  ['service.token', ['PULL_SECRET_TOKEN']],
  ['s3.accessKeyId', ['AWS_ACCESS_KEY_ID']],
  ['s3.secretAccessKey', ['AWS_SECRET_ACCESS_KEY']],
  ['s3.region', ['AWS_REGION', 'AWS_DEFAULT_REGION']],
  ['dry.hostId', ['DRYCONFIG_DRY_HOST_ID', 'DRY_HOST_ID']],
  ['dry.rebootMarker', ['DRYCONFIG_DRY_FAKE_REBOOT_MARKER_PATH', 'DRY_FAKE_REBOOT_MARKER_PATH']],
  ['dry.clusterHosts', ['DRYCONFIG_DRY_CLUSTER_HOSTS_PATH', 'DRY_CLUSTER_HOSTS_PATH']],
];

/**
 * The settings that variables of other programs give: the token of the service, the credentials
 * of an object store, and the dry run of the agent that is replaced.
 * @throws AgentError `config.invalid-value`
 */
export function knownVariablesLayer(environment: Environment): Layer {
  const layer = new Map<SettingKey, Given>();
  for (const [key, names] of plainVariables) {
    const name = names.find((candidate) => isSet(environment[candidate]));
    if (name === undefined) continue;
    const origin = variableOrigin(name);
    layer.set(key, { value: readValue(key, environment[name] ?? '', origin), origin });
  }
  const reach = dryReach(environment);
  if (reach !== undefined) layer.set('host.reach', reach);
  return layer;
}

const isSet = (text: string | undefined): boolean => text !== undefined && text !== '';

function dryReach(environment: Environment): Given | undefined {
  const name = ['DRYCONFIG_DRY_ENABLE', 'DRY_ENABLE'].find(
    (candidate) => environment[candidate] !== undefined,
  );
  if (name === undefined) return undefined;
  const origin = variableOrigin(name);
  const text = environment[name] ?? '';
  const isDry = goBoolean(text);
  if (isDry === undefined) {
    throw invalid('host.reach', origin, {
      what: `${JSON.stringify(text)} is neither true nor false`,
      write: 'true or false, or unset it',
    });
  }
  return { value: isDry ? 'dry' : 'nsenter', origin };
}

const storeVariables: readonly (readonly [SettingKey, string])[] = [
  ['s3.endpoint', 'S3_URL'],
  ['s3.bucket', 'BUCKET'],
  ['cluster.id', 'CLUSTER_ID'],
  ['disk.device', 'DEVICE'],
];

/**
 * The contract of April 2020: `-r ROLE` with CLUSTER_ID, BUCKET, S3_URL and DEVICE in the
 * environment takes Ignition from `S3_URL/BUCKET/CLUSTER_ID/<file>` and calls no service. It is
 * meant when S3_URL is set and nothing says where a service is; the names are too common to be
 * read otherwise.
 * @param others what files, flags and BOOTWRIGHT_* variables say
 * @throws AgentError `config.invalid-value`
 */
export function storeContractLayer(environment: Environment, others: Layer): Layer {
  if (!isSet(environment['S3_URL']) || textIn(others, 'service.url') !== '') return new Map();
  const layer = new Map<SettingKey, Given>([
    ['ignition.source', { value: 's3', origin: variableOrigin('S3_URL') }],
  ]);
  for (const [key, name] of storeVariables) {
    const text = environment[name];
    if (text === undefined || text === '') continue;
    const origin = variableOrigin(name);
    layer.set(key, { value: readValue(key, text, origin), origin });
  }
  return layer;
}
