import type { Config } from '../../config/schema.ts';
import type { RoleName } from '../../model/role.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Ports } from '../../ports/ports.ts';
import { ignitionSourceFailure, ignitionFileMissing } from './failures.ts';
import { readTextOr } from '../host-commands.ts';
import { choiceOr } from '../conditions.ts';

/** The ports that sources of Ignition use. */
export type IgnitionPorts = Pick<Ports, 'host' | 'inventory' | 'objects' | 'web'>;

/**
 * One place where the Ignition of a host can come from. It opens the download and does not check
 * the content.
 */
type IgnitionSource = (
  ports: IgnitionPorts,
  config: Config,
  request: {
    /** The role the host will have: never `bootstrap`, that host becomes a master. */
    readonly role: RoleName;
    readonly signal: AbortSignal;
  },
) => Promise<Download>;

const fromFile: IgnitionSource = async ({ host }, { ignition }, { signal }) => {
  const text = await readTextOr({ host, signal }, ignition.file, ignitionFileMissing);
  const bytes = new TextEncoder().encode(text);
  return { body: once(bytes), bytes: bytes.length, origin: ignition.file };
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/**
 * A machine-config-server answers with spec 2.2 unless the header names a version
 * (machine-config-operator, `pkg/server`). 3.2.0 is what every RHCOS since OpenShift 4.7 reads.
 */
const ignitionAccept = 'application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1';

const fromUrl: IgnitionSource = async ({ host, web }, { ignition }, { signal }) => {
  const { caFile } = ignition;
  const url = ignition.url.reveal();
  if (caFile === '') return web.open(url, { signal, accept: ignitionAccept });
  const ca = await readTextOr({ host, signal }, caFile, ignitionFileMissing);
  return web.open(url, { signal, accept: ignitionAccept, ca });
};

/**
 * An object store, with one config for each role at `BUCKET/CLUSTER_ID/<role>.ign`, as in the
 * install command of 2020.
 */
const fromS3: IgnitionSource = ({ objects }, { s3, cluster }, { role, signal }) =>
  objects.get(s3.bucket, `${cluster.id}/${role}.ign`, signal);

/** The inventory service, which knows this host and its role. */
const fromService: IgnitionSource = ({ inventory }, _config, { role, signal }) =>
  inventory.hostIgnition(role, signal);

type SourceName = Exclude<Config['ignition']['source'], 'auto'>;

interface Candidate {
  readonly open: IgnitionSource;
  /** The settings that it needs, for people. */
  readonly needs: string;
  /** Where it reads from, or undefined when it is not configured. */
  readonly place: (config: Config) => string | undefined;
}

const given = (value: string): string | undefined => (value === '' ? undefined : value);

/** In the order of `auto`: a setting for one config comes before a server for many hosts. */
const candidates: Readonly<Record<SourceName, Candidate>> = {
  file: { open: fromFile, needs: 'ignition.file', place: ({ ignition }) => given(ignition.file) },
  url: {
    open: fromUrl,
    needs: 'ignition.url',
    place: ({ ignition }) => given(String(ignition.url)),
  },
  s3: {
    open: fromS3,
    needs: 's3.endpoint and s3.bucket',
    place: ({ s3 }) =>
      s3.endpoint.isEmpty || s3.bucket === ''
        ? undefined
        : `${String(s3.endpoint)}, bucket ${s3.bucket}`,
  },
  service: {
    open: fromService,
    needs: 'service.url',
    place: ({ service }) => given(String(service.url)),
  },
};

const names = Object.keys(candidates) as readonly SourceName[];

/**
 * Chooses where the Ignition of this host comes from.
 * @throws AgentError `ignition.not-configured`
 */
export function chooseSource(config: Config) {
  const { source } = config.ignition;
  const name =
    source === 'auto' ? names.find((one) => candidates[one].place(config) !== undefined) : source;
  const place = name === undefined ? undefined : candidates[name].place(config);
  if (name === undefined || place === undefined) {
    const what = name === undefined ? 'nothing is set' : `${candidates[name].needs} is not set`;
    throw ignitionSourceFailure('ignition.not-configured', `no source of Ignition: ${what}`, {
      context: { source },
    });
  }
  const because = source === 'auto' ? `${candidates[name].needs} is set` : 'set by ignition.source';
  return { name, open: candidates[name].open, because: `${place} (${because})` };
}

/** The choice as a plan prints it, or why there is none. */
export const explainSource = (config: Config): string =>
  choiceOr(() => {
    const { name, because } = chooseSource(config);
    return `from ${name}: ${because}`;
  });
