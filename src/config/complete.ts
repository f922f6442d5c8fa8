import { nmstateFolder } from '../settings/keyfiles.ts';
import { readWriterArgs, savingOption } from '../settings/writer-args.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { variableOrigin } from './environment.ts';
import { configFailure } from './failures.ts';
import { type SettingValue, type Layer, type SettingKey, textIn } from './settings.ts';

/**
 * Adds settings that follow from others. By the rules of assisted-installer, an infra-env without
 * an id has the cluster's id, and a worker has no control plane to count. For coreos-installer,
 * adds options that copy the network and keep the partitions of the settings.
 */
export function derive(given: Layer): Layer {
  const settings = new Map(given);
  const clusterId = textIn(given, 'cluster.id');
  if (isUnset(given, 'cluster.infraEnvId') && clusterId !== '')
    settings.set('cluster.infraEnvId', { value: clusterId, origin: 'derived from cluster.id' });
  const isCounted = typeof given.get('cluster.controlPlaneCount')?.value === 'number';
  if (textIn(given, 'role') === 'worker' && isCounted)
    settings.set('cluster.controlPlaneCount', { value: 0, origin: 'derived from role worker' });
  addWriterArgs(settings);
  return settings;
}

/**
 * The folder from which coreos-installer copies keyfiles, with the setting that asks for it;
 * undefined if no setting does.
 */
export function networkFolderOf(
  given: Layer,
): { readonly key: SettingKey; readonly folder: string } | undefined {
  const keyfiles = textIn(given, 'network.keyfiles');
  if (keyfiles !== '') return { key: 'network.keyfiles', folder: keyfiles };
  if (isUnset(given, 'network.nmstate')) return undefined;
  return { key: 'network.nmstate', folder: nmstateFolder };
}

function addWriterArgs(settings: Map<SettingKey, SettingValue>): void {
  // In a file, a key without a value has the value undefined.
  const { value = [], origin } = settings.get('image.writerArgs') ?? {};
  if (!Array.isArray(value)) return;
  const args = [...(value as readonly string[])];
  const origins = origin === undefined ? [] : [origin];
  const network = networkFolderOf(settings);
  if (network !== undefined) {
    const options = readWriterArgs(args.map(String)).uses.map(({ option }) => option);
    if (!options.includes('copy-network')) args.push('--copy-network');
    if (!options.includes('network-dir')) args.push(`--network-dir=${network.folder}`);
    origins.push(`derived from ${network.key}`);
  }
  const keep = settings.get('disk.keep')?.value;
  const saved = Array.isArray(keep) ? keep.flatMap((one) => savingOption(String(one)) ?? []) : [];
  if (saved.length > 0) {
    args.push(...saved);
    origins.push('derived from disk.keep');
  }
  if (origins.length > 0)
    settings.set('image.writerArgs', { value: args, origin: origins.join(', ') });
}

/** A missing setting, and how to set it. */
export interface MissingSetting {
  readonly key: SettingKey;
  readonly what: string;
  readonly write: string;
}

/** Source of Ignition. */
type IgnitionSource = 'service' | 's3' | 'url' | 'file';

/**
 * The source of Ignition: the configured source, or with `auto` the most specific source with
 * settings. Undefined if no source has settings.
 */
export function ignitionSourceOf(given: Layer): IgnitionSource | undefined {
  const source = textIn(given, 'ignition.source', 'auto');
  if (source !== 'auto') return source as IgnitionSource;
  if (!isUnset(given, 'ignition.file')) return 'file';
  if (!isUnset(given, 'ignition.url')) return 'url';
  const hasStore = !isUnset(given, 's3.endpoint');
  if (hasStore && !isUnset(given, 's3.bucket')) return 's3';
  if (!isUnset(given, 'service.url')) return 'service';
  return hasStore ? 's3' : undefined;
}

/**
 * Origins that assisted-installer does not have: files, and variables and flags named after a
 * setting.
 */
const ownSource = /^(?:file |environment BOOTWRIGHT_|flag --\w+\.)/;

/** All settings that an install requires and no source sets. */
export function missingSettings(given: Layer): readonly MissingSetting[] {
  const missing: MissingSetting[] = [];
  // Master is the default of assisted-installer, so it holds only for lines with its flags and
  // variables.
  if (isUnset(given, 'role') && [...given.values()].some(({ origin }) => ownSource.test(origin)))
    missing.push({
      key: 'role',
      what: 'no role is set',
      write: 'give -r ROLE (or role in a file)',
    });
  const hasHints = Object.keys(given.get('disk.hints')?.value ?? {}).length > 0;
  if (isUnset(given, 'image.existingRoot') && isUnset(given, 'disk.device') && !hasHints) {
    // The line follows the contract of 2020, in which variables are the settings.
    const isStoreContract = given.get('ignition.source')?.origin === variableOrigin('S3_URL');
    missing.push({
      key: 'disk.device',
      what: 'no install disk is set',
      write: isStoreContract
        ? 'set DEVICE=/dev/disk/by-id/… with S3_URL (or give --boot-device)'
        : 'give --boot-device /dev/disk/by-id/… (or disk.device or disk.hints in a file)',
    });
  }
  missing.push(...missingForIgnition(given));
  const image = textIn(given, 'image.source', 'auto');
  if (image === 'file' || image === 'url' || image === 'stream') {
    const key = `image.${image}` as const;
    const what = `image.source is ${image}, but ${key} is not set`;
    if (isUnset(given, key)) missing.push({ key, what, write: `set ${key}` });
  }
  return missing;
}

function missingForIgnition(given: Layer): readonly MissingSetting[] {
  const source = ignitionSourceOf(given);
  if (source === undefined) {
    const write =
      'give --url http://HOST:PORT of the service (or S3_URL, ignition.url, ignition.file)';
    return [{ key: 'service.url', what: 'no source of Ignition is set', write }];
  }
  const missing = requiredFor[source]
    .filter((key) => isUnset(given, key))
    .map((key) => ({
      key,
      what: `${key} is not set; Ignition from ${source} requires it`,
      write: writeFor[key] ?? `set ${key}`,
    }));
  if (source === 's3') return [...missing, ...missingHalfOfKeys(given)];
  // Version 2 of the service has Ignition by host; a single node takes the Ignition of the cluster.
  const needsHost =
    textIn(given, 'service.api', 'v2') === 'v2' &&
    given.get('cluster.controlPlaneCount')?.value !== 1;
  return missing.filter(({ key }) => key !== 'cluster.hostId' || needsHost);
}

const requiredFor: Readonly<Record<IgnitionSource, readonly SettingKey[]>> = {
  service: ['service.url', 'cluster.id', 'cluster.hostId'],
  s3: ['s3.endpoint', 's3.bucket', 'cluster.id'],
  url: ['ignition.url'],
  file: ['ignition.file'],
};

const writeFor: Partial<Record<SettingKey, string>> = {
  'service.url': 'give --url http://HOST:PORT',
  'cluster.id': 'give --cluster-id UUID (or CLUSTER_ID with S3_URL)',
  'cluster.hostId': 'give --host-id UUID',
  's3.endpoint': 'give --s3-endpoint http://HOST:PORT (or S3_URL)',
  's3.bucket': 'give --s3-bucket NAME (or BUCKET with S3_URL)',
};

/** A store takes requests without keys or with both keys; one key alone is a mistake. */
function missingHalfOfKeys(given: Layer): readonly MissingSetting[] {
  const hasId = !isUnset(given, 's3.accessKeyId');
  const secret = given.get('s3.secretAccessKey')?.value;
  const hasSecret =
    (secret instanceof Secret && !secret.isEmpty) || !isUnset(given, 's3.secretAccessKeyFile');
  if (hasId === hasSecret) return [];
  const keys = ['s3.accessKeyId', 's3.secretAccessKey'] as const;
  const [set, key] = hasId ? keys : ([keys[1], keys[0]] as const);
  return [{ key, what: `${set} is set without ${key}`, write: `set ${key} too, or neither` }];
}

const isUnset = (given: Layer, key: SettingKey): boolean => textIn(given, key) === '';

/** A failure that lists missing settings. */
export const incomplete = (missing: readonly MissingSetting[]): AgentError =>
  configFailure('config.incomplete', missing.map(({ what }) => what).join('; '), {
    hint: missing.map(({ write }) => write).join('; '),
    context: { settings: missing.map(({ key }) => key).join(', ') },
  });

/** Mistakes in combinations of settings that are each valid alone. */
export function incompatible(given: Layer): readonly AgentError[] {
  const found: AgentError[] = [];
  const refuse = (what: string, hint: string, settings: string): void => {
    found.push(configFailure('config.invalid-value', what, { hint, context: { settings } }));
  };
  const isForced = textIn(given, 'bootstrap.etcdOverride') === 'always';
  // With the override, the etcd operator removes the member on the bootstrap host as soon as one
  // other member exists (cluster-etcd-operator 4.6, `canRemoveEtcdBootstrap`).
  if (isForced && given.get('cluster.controlPlaneCount')?.value === 2)
    refuse(
      'bootstrap.etcdOverride is always in a cluster of two masters, whose etcd would be left with one member',
      'leave bootstrap.etcdOverride at auto, or install three masters',
      'bootstrap.etcdOverride, cluster.controlPlaneCount',
    );
  if (!isUnset(given, 'network.keyfiles') && !isUnset(given, 'network.nmstate'))
    refuse(
      'network.keyfiles and network.nmstate are both set, and each is the whole network of the installed host',
      'set one of them',
      'network.keyfiles, network.nmstate',
    );
  return found;
}

/**
 * Refuses a configuration with which an install cannot start.
 * @throws AgentError `config.incomplete` that names every missing setting, `config.invalid-value`
 */
export function requireComplete(given: Layer): void {
  for (const mistake of incompatible(given)) throw mistake;
  const missing = missingSettings(given);
  if (missing.length > 0) throw incomplete(missing);
}

/** Path of the journal on the host. */
export const journalPath = '/opt/install-dir/journal.jsonl';

/** Path of the run's status, next to the journal. */
export const statusPath = '/opt/install-dir/status.json';

/**
 * Path of a log bundle, next to the journal: `bundle` for a failed run, `logs` for a user's
 * request.
 * @param time in milliseconds since 1970; written as 20261124T124100Z in the name
 */
export function bundlePathFor(time: number, what: 'bundle' | 'logs' = 'bundle'): string {
  const moment = new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `/opt/install-dir/${what}-${moment}.tar.gz`;
}
