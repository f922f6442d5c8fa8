import { type Environment, isSet, variableOrigin } from './environment.ts';
import type { Refuse } from './failures.ts';
import { flagName, type FlagUse } from './go-flags.ts';
import { invalid, readValue } from './read-value.ts';
import { type SettingValue, type Layer, type SettingKey, textIn } from './settings.ts';

/** Flags that only a service with version 1 of the API sends. */
const versionOneFlags: readonly string[] = ['host', 'port', 'host-name', 'installation-timeout'];

/**
 * Reads flags of 2020 and 2021 that have a meaning only together: `--host` and `--port` are the
 * address of a version 1 service, `--s3-endpoint` and `--s3-bucket` an object store with Ignition,
 * and `--high-availability-mode None` a cluster of one node.
 * @param layer the settings of all other flags; this function adds to it
 * @param notes receives a sentence for each flag without effect
 */
export function addOldServiceSettings(
  uses: readonly FlagUse[],
  layer: Map<SettingKey, SettingValue>,
  notes: string[],
  refuse: Refuse,
): void {
  const last = new Map(uses.map(({ name, text }) => [name, text ?? '']));
  const set = (key: SettingKey, text: string, origin: string): unknown =>
    layer.set(key, { value: readValue(key, text), origin });
  const mode = last.get('high-availability-mode') ?? '';
  const modeOrigin = 'flag --high-availability-mode';
  if (mode === 'None') set('cluster.controlPlaneCount', '1', modeOrigin);
  else if (mode !== '' && mode !== 'Full') {
    const what = `${JSON.stringify(mode)} is neither Full nor None`;
    refuse(invalid('cluster.controlPlaneCount', modeOrigin, { what, write: 'Full or None' }));
  }
  addVersionOneService(last, layer, notes);
  const endpoint = last.get('s3-endpoint');
  const bucket = last.get('s3-bucket');
  if (endpoint !== undefined) {
    set('s3.endpoint', endpoint, 'flag --s3-endpoint');
    set('s3.bucket', 'test', 'flag --s3-endpoint');
    set('ignition.source', 's3', 'flag --s3-endpoint');
  }
  if (bucket !== undefined) {
    set('s3.bucket', bucket, 'flag --s3-bucket');
    if (endpoint === undefined) set('ignition.source', 's3', 'flag --s3-bucket');
  }
}

function addVersionOneService(
  last: ReadonlyMap<string, string>,
  layer: Map<SettingKey, SettingValue>,
  notes: string[],
): void {
  const flag = versionOneFlags.find((name) => last.has(name));
  if (flag === undefined) return;
  if (!layer.has('service.api') && !layer.has('cluster.infraEnvId'))
    layer.set('service.api', { value: 'v1', origin: `implied by flag ${flagName(flag)}` });
  const host = last.get('host') ?? '';
  const port = last.get('port') ?? '';
  if (host === '' && port === '') return;
  if (host === '' || layer.has('service.url')) {
    const because = host === '' ? '--host is missing' : '--url names the service';
    notes.push(`flags --host and --port have no effect: ${because}`);
    return;
  }
  const address = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const url = `http://${address}${port === '' ? '' : `:${port}`}`;
  layer.set('service.url', { value: readValue('service.url', url), origin: 'flag --host' });
}

const storeVariables: readonly (readonly [SettingKey, string])[] = [
  ['s3.endpoint', 'S3_URL'],
  ['s3.bucket', 'BUCKET'],
  ['cluster.id', 'CLUSTER_ID'],
  ['disk.device', 'DEVICE'],
];

/**
 * The contract of April 2020: `-r ROLE` with CLUSTER_ID, BUCKET, S3_URL and DEVICE in the
 * environment takes Ignition from `S3_URL/BUCKET/CLUSTER_ID/<file>` and calls no service. The
 * contract applies when S3_URL is set and no service is named; otherwise the names are too common
 * to be read.
 * @param others the settings of files, flags and BOOTWRIGHT_* variables
 */
export function storeContractLayer(environment: Environment, others: Layer): Layer {
  if (!isSet(environment['S3_URL']) || textIn(others, 'service.url') !== '') return new Map();
  const layer = new Map<SettingKey, SettingValue>([
    ['ignition.source', { value: 's3', origin: variableOrigin('S3_URL') }],
  ]);
  for (const [key, name] of storeVariables) {
    const text = environment[name];
    if (text === undefined || text === '') continue;
    layer.set(key, { value: readValue(key, text), origin: variableOrigin(name) });
  }
  return layer;
}
