import { type Environment, isSet, variableOrigin } from './environment.ts';
import { flagName, type FlagUse } from './go-flags.ts';
import { invalid, readValue } from './read-value.ts';
import { type Given, type Layer, type SettingKey, textIn } from './settings.ts';

/** Flags that only a service with version 1 of the interface sends. */
const versionOneFlags: readonly string[] = ['host', 'port', 'host-name', 'installation-timeout'];

/**
 * Reads the flags of 2020 and 2021 that have a meaning together: `--host` and `--port` are the
 * address of a version 1 service, `--s3-endpoint` and `--s3-bucket` a store that Ignition comes
 * from, and `--high-availability-mode None` a cluster of one node.
 * @param layer what the other flags set; it is not changed
 * @param notes gets a sentence for each flag without effect
 * @throws AgentError `config.invalid-value`
 */
export function oldServiceSettings(uses: readonly FlagUse[], layer: Layer, notes: string[]): Layer {
  const last = new Map(uses.map(({ name, text }) => [name, text ?? '']));
  return new Map<SettingKey, Given>([
    ...fromAvailability(last.get('high-availability-mode')),
    ...fromHostAndPort(last, layer, notes),
    ...fromApiEra(last, layer),
    ...fromStore(last),
  ]);
}

type Settings = readonly (readonly [SettingKey, Given])[];
type LastTexts = ReadonlyMap<string, string>;

function fromAvailability(mode: string | undefined): Settings {
  const origin = 'flag --high-availability-mode';
  if (mode === undefined || mode === '' || mode === 'Full') return [];
  if (mode === 'None') return [['cluster.controlPlaneCount', { value: 1, origin }]];
  throw invalid('cluster.controlPlaneCount', origin, {
    what: `${JSON.stringify(mode)} is neither Full nor None`,
    write: 'Full or None',
  });
}

function fromHostAndPort(last: LastTexts, layer: Layer, notes: string[]): Settings {
  const host = last.get('host') ?? '';
  const port = last.get('port') ?? '';
  if (host === '' && port === '') return [];
  if (host === '' || layer.has('service.url')) {
    const because = host === '' ? '--host is missing' : '--url names the service';
    notes.push(`flags --host and --port have no effect: ${because}`);
    return [];
  }
  const address = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const origin = 'flag --host';
  const text = `http://${address}${port === '' ? '' : `:${port}`}`;
  return [['service.url', { value: readValue('service.url', text), origin }]];
}

function fromApiEra(last: LastTexts, layer: Layer): Settings {
  if (layer.has('service.api') || layer.has('cluster.infraEnvId')) return [];
  const name = versionOneFlags.find((flag) => last.has(flag));
  if (name === undefined) return [];
  return [['service.api', { value: 'v1', origin: `implied by flag ${flagName(name)}` }]];
}

function fromStore(last: LastTexts): Settings {
  const endpoint = last.get('s3-endpoint');
  const bucket = last.get('s3-bucket');
  if (endpoint === undefined && bucket === undefined) return [];
  const of = (key: SettingKey, text: string, flag: string): readonly [SettingKey, Given] => {
    const origin = `flag ${flag}`;
    return [key, { value: readValue(key, text), origin }];
  };
  return [
    ...(endpoint === undefined ? [] : [of('s3.endpoint', endpoint, '--s3-endpoint')]),
    of('s3.bucket', bucket ?? 'test', bucket === undefined ? '--s3-endpoint' : '--s3-bucket'),
    of('ignition.source', 's3', endpoint === undefined ? '--s3-bucket' : '--s3-endpoint'),
  ];
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
 * meant when S3_URL is set and no service is named; otherwise the names are too common to be read.
 * @param others what files, flags and BOOTWRIGHT_* variables say
 */
export function storeContractLayer(environment: Environment, others: Layer): Layer {
  if (!isSet(environment['S3_URL']) || textIn(others, 'service.url') !== '') return new Map();
  const layer = new Map<SettingKey, Given>([
    ['ignition.source', { value: 's3', origin: variableOrigin('S3_URL') }],
  ]);
  for (const [key, name] of storeVariables) {
    const text = environment[name];
    if (text === undefined || text === '') continue;
    layer.set(key, { value: readValue(key, text), origin: variableOrigin(name) });
  }
  return layer;
}
