import { nmstateFolder } from '../model/keyfiles.ts';
import { readWriterArgs, savingOption } from '../model/writer-args.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { variableOrigin } from './environment.ts';
import { configFailure } from './failures.ts';
import { type Given, type Layer, type SettingKey, textIn } from './settings.ts';

/**
 * Settings that follow from others: an infra-env without a name is the cluster's, and a worker has
 * no control plane to count (rules of the agent replaced).
 */
export function derive(given: Layer): Layer {
  const derived = new Map<SettingKey, Given>();
  const clusterId = textIn(given, 'cluster.id');
  if (textIn(given, 'cluster.infraEnvId') === '' && clusterId !== '') {
    derived.set('cluster.infraEnvId', { value: clusterId, origin: 'derived from cluster.id' });
  }
  const isCounted = typeof given.get('cluster.controlPlaneCount')?.value === 'number';
  if (textIn(given, 'role') === 'worker' && isCounted) {
    derived.set('cluster.controlPlaneCount', { value: 0, origin: 'derived from role worker' });
  }
  const takesNetwork = writerArgsFor(given);
  if (takesNetwork !== undefined) derived.set('image.writerArgs', takesNetwork);
  return new Map([...given, ...derived]);
}

/**
 * The folder whose keyfiles coreos-installer takes along, with the setting that asks for it;
 * undefined where none does.
 */
export function networkFolderOf(
  given: Layer,
): { readonly key: SettingKey; readonly folder: string } | undefined {
  const keyfiles = textIn(given, 'network.keyfiles');
  if (keyfiles !== '') return { key: 'network.keyfiles', folder: keyfiles };
  if (textIn(given, 'network.nmstate') === '') return undefined;
  return { key: 'network.nmstate', folder: nmstateFolder };
}

/**
 * The arguments by which coreos-installer takes the network of the settings along and keeps the
 * partitions of `disk.keep`, behind those that are given.
 */
function writerArgsFor(given: Layer): Given | undefined {
  const { value, origin } = given.get('image.writerArgs') ?? { value: [] };
  if (!Array.isArray(value)) return undefined;
  const args = value as readonly string[];
  const network = networkFolderOf(given);
  const derived = [
    [network?.key, networkArgs(network?.folder, args)],
    ['disk.keep', keepArgs(given.get('disk.keep')?.value)],
  ] as const;
  const more = derived.filter(([, own]) => own !== undefined);
  if (more.length === 0) return undefined;
  const from = more.map(([key]) => `derived from ${key}`);
  return {
    value: [...args, ...more.flatMap(([, own]) => own ?? [])],
    origin: [...(origin === undefined ? [] : [origin]), ...from].join(', '),
  };
}

function networkArgs(
  folder: string | undefined,
  args: readonly string[],
): readonly string[] | undefined {
  if (folder === undefined) return undefined;
  const { uses } = readWriterArgs(args.map(String));
  const has = (name: string): boolean => uses.some(({ option }) => option === name);
  return [
    ...(has('copy-network') ? [] : ['--copy-network']),
    ...(has('network-dir') ? [] : [`--network-dir=${folder}`]),
  ];
}

function keepArgs(keep: unknown): readonly string[] | undefined {
  const options = Array.isArray(keep) ? keep.map((one) => savingOption(String(one))) : [];
  const known = options.filter((option) => option !== undefined);
  return known.length === 0 ? undefined : known;
}

/** A setting that is missing, and what to write to set it. */
export interface MissingSetting {
  readonly key: SettingKey;
  readonly what: string;
  readonly write: string;
}

/** The places that Ignition can come from. */
type IgnitionSource = 'service' | 's3' | 'url' | 'file';

/**
 * The source of Ignition: the one that is set, or with `auto` the first that is configured, the
 * most particular first. Undefined when nothing is.
 */
export function ignitionSourceOf(given: Layer): IgnitionSource | undefined {
  const asked = textIn(given, 'ignition.source', 'auto');
  if (asked !== 'auto') return asked as IgnitionSource;
  if (textIn(given, 'ignition.file') !== '') return 'file';
  if (textIn(given, 'ignition.url') !== '') return 'url';
  const hasStore = textIn(given, 's3.endpoint') !== '';
  if (hasStore && textIn(given, 's3.bucket') !== '') return 's3';
  if (textIn(given, 'service.url') !== '') return 'service';
  return hasStore ? 's3' : undefined;
}

/** Everything that an install needs and that no source gives. */
export function missingSettings(given: Layer): readonly MissingSetting[] {
  return [
    ...missingForRole(given),
    ...missingForDisk(given),
    ...missingForIgnition(given),
    ...missingForImage(given),
  ];
}

/**
 * Refuses a configuration that an install cannot start with.
 * @throws AgentError `config.incomplete` that names every missing setting, `config.invalid-value`
 */
export function requireComplete(given: Layer): void {
  requireCompatible(given);
  const missing = missingSettings(given);
  if (missing.length > 0) throw incomplete(missing);
}

/**
 * Refuses settings of which each is right and that cannot be together.
 * @throws AgentError `config.invalid-value`
 */
export function requireCompatible(given: Layer): void {
  requireSafeEtcd(given);
  requireOneNetwork(given);
}

/** Names settings that are missing. */
export const incomplete = (missing: readonly MissingSetting[]): AgentError =>
  configFailure('config.incomplete', missing.map(({ what }) => what).join('; '), {
    hint: missing.map(({ write }) => write).join('; '),
    context: { settings: missing.map(({ key }) => key).join(', ') },
  });

/**
 * With the override, the etcd operator removes the member on the bootstrap host as soon as one
 * other is there (cluster-etcd-operator 4.6, `canRemoveEtcdBootstrap`): with two masters that one
 * is alone.
 */
function requireSafeEtcd(given: Layer): void {
  if (textIn(given, 'bootstrap.etcdOverride') !== 'always') return;
  if (given.get('cluster.controlPlaneCount')?.value !== 2) return;
  throw configFailure(
    'config.invalid-value',
    'bootstrap.etcdOverride is always in a cluster of two masters, whose etcd would be left with one member',
    {
      hint: 'leave bootstrap.etcdOverride at auto, or install three masters',
      context: { settings: 'bootstrap.etcdOverride, cluster.controlPlaneCount' },
    },
  );
}

/** The keyfiles of one would replace those of the other. */
function requireOneNetwork(given: Layer): void {
  if (isUnset(given, 'network.keyfiles') || isUnset(given, 'network.nmstate')) return;
  throw configFailure(
    'config.invalid-value',
    'network.keyfiles and network.nmstate are both set, and each is the whole network of the installed host',
    {
      hint: 'set one of them',
      context: { settings: 'network.keyfiles, network.nmstate' },
    },
  );
}

/**
 * Sources that assisted-installer does not know: files, variables and flags that are named after a
 * setting.
 */
const ownSource = /^(?:file |environment BOOTWRIGHT_|flag --\w+\.)/;

/**
 * Master is the default of assisted-installer, so it counts only where no more than its flags and
 * variables are used.
 */
function missingForRole(given: Layer): readonly MissingSetting[] {
  if (!isUnset(given, 'role')) return [];
  if (![...given.values()].some(({ origin }) => ownSource.test(origin))) return [];
  return [{ key: 'role', what: 'no role is set', write: 'give -r ROLE (or role in a file)' }];
}

const isUnset = (given: Layer, key: SettingKey): boolean => textIn(given, key) === '';

function missingForDisk(given: Layer): readonly MissingSetting[] {
  if (!isUnset(given, 'image.existingRoot') || !isUnset(given, 'disk.device')) return [];
  if (Object.keys(given.get('disk.hints')?.value ?? {}).length > 0) return [];
  return [
    {
      key: 'disk.device',
      what: 'no install disk is set',
      write: isStoreContract(given)
        ? 'set DEVICE=/dev/disk/by-id/… with S3_URL (or give --boot-device)'
        : 'give --boot-device /dev/disk/by-id/… (or disk.device or disk.hints in a file)',
    },
  ];
}

/** The line follows the contract of 2020, whose settings are variables. */
const isStoreContract = (given: Layer): boolean =>
  given.get('ignition.source')?.origin === variableOrigin('S3_URL');

function missingForIgnition(given: Layer): readonly MissingSetting[] {
  const source = ignitionSourceOf(given);
  if (source === undefined) {
    return [
      {
        key: 'service.url',
        what: 'no source of Ignition is set',
        write:
          'give --url http://HOST:PORT of the service (or S3_URL, ignition.url, ignition.file)',
      },
    ];
  }
  const needed: Readonly<Record<IgnitionSource, readonly SettingKey[]>> = {
    service: ['service.url', 'cluster.id', ...hostIdWhereNeeded(given)],
    s3: ['s3.endpoint', 's3.bucket', 'cluster.id'],
    url: ['ignition.url'],
    file: ['ignition.file'],
  };
  return [
    ...needed[source]
      .filter((key) => isUnset(given, key))
      .map((key) => ({
        key,
        what: `${key} is not set; Ignition from ${source} requires it`,
        write: writeFor[key] ?? `set ${key}`,
      })),
    ...(source === 's3' ? missingHalfOfKeys(given) : []),
  ];
}

/** A store is asked without keys or with both; one alone is a mistake, and not meant as none. */
function missingHalfOfKeys(given: Layer): readonly MissingSetting[] {
  const hasId = !isUnset(given, 's3.accessKeyId');
  const secret = given.get('s3.secretAccessKey')?.value;
  const hasSecret =
    (secret instanceof Secret && !secret.isEmpty) || !isUnset(given, 's3.secretAccessKeyFile');
  if (hasId === hasSecret) return [];
  const [set, key] = hasId
    ? (['s3.accessKeyId', 's3.secretAccessKey'] as const)
    : (['s3.secretAccessKey', 's3.accessKeyId'] as const);
  return [{ key, what: `${set} is set without ${key}`, write: `set ${key} too, or neither` }];
}

/** Version 2 of the service has Ignition by host; a single node takes that of the cluster. */
const hostIdWhereNeeded = (given: Layer): readonly SettingKey[] =>
  textIn(given, 'service.api', 'v2') === 'v2' && given.get('cluster.controlPlaneCount')?.value !== 1
    ? ['cluster.hostId']
    : [];

const writeFor: Partial<Record<SettingKey, string>> = {
  'service.url': 'give --url http://HOST:PORT',
  'cluster.id': 'give --cluster-id UUID (or CLUSTER_ID with S3_URL)',
  'cluster.hostId': 'give --host-id UUID',
  's3.endpoint': 'give --s3-endpoint http://HOST:PORT (or S3_URL)',
  's3.bucket': 'give --s3-bucket NAME (or BUCKET with S3_URL)',
};

function missingForImage(given: Layer): readonly MissingSetting[] {
  const source = textIn(given, 'image.source', 'auto');
  if (source !== 'file' && source !== 'url' && source !== 'stream') return [];
  const key = `image.${source}` as const;
  if (!isUnset(given, key)) return [];
  return [{ key, what: `image.source is ${source}, but ${key} is not set`, write: `set ${key}` }];
}

/** The journal of a host, by its path there. */
export const journalPath = '/opt/install-dir/journal.jsonl';

/** Where a run keeps how it stands, beside its journal. */
export const statusPath = '/opt/install-dir/status.json';

/**
 * Where logs are put together, beside the journal: those of a failed run, or with `logs` those that
 * somebody asked for; for milliseconds since 1970.
 */
export const bundlePathFor = (time: number, what: 'bundle' | 'logs' = 'bundle'): string =>
  `/opt/install-dir/${what}-${momentOf(time)}.tar.gz`;

/** Milliseconds since 1970 as they are in the name of a file: 20261124T124100Z. */
export const momentOf = (time: number): string =>
  new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '');
