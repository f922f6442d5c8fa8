import { Readable } from 'node:stream';
import type { Config } from '../../config/schema.ts';
import type { RoleName } from '../../model/role.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Ports } from '../../ports/ports.ts';
import { ignitionSourceFailure, ignitionFileMissing } from './failures.ts';
import { readTextOr } from '../host-commands.ts';
import { choiceOr } from '../conditions.ts';

/** The ports that sources of Ignition use. */
export type IgnitionPorts = Pick<Ports, 'host' | 'inventory' | 'objects' | 'web'>;

/** The purpose for which a config is fetched. */
interface Request {
  /** The final role of the host: never `bootstrap`, because that host becomes a master. */
  readonly role: RoleName;
  readonly signal: AbortSignal;
}

/**
 * A machine-config-server answers with spec 2.2 unless the header names a version
 * (machine-config-operator, `pkg/server`). Every RHCOS since OpenShift 4.7 reads 3.2.0.
 */
const ignitionAccept = 'application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1';

type SourceName = Exclude<Config['ignition']['source'], 'auto'>;

interface IgnitionSource {
  /** The required settings, for people. */
  readonly needs: string;
  /** The location it reads from; empty if it is not configured. */
  readonly place: (config: Config) => string;
  /** Opens the download without a check of its content. */
  readonly open: (ports: IgnitionPorts, config: Config, request: Request) => Promise<Download>;
}

/** In the order of `auto`: a setting for one config comes before a server for many hosts. */
const sources: Readonly<Record<SourceName, IgnitionSource>> = {
  file: {
    needs: 'ignition.file',
    place: ({ ignition }) => ignition.file,
    open: async ({ host }, { ignition }, { signal }) => {
      const text = await readTextOr({ host, signal }, ignition.file, ignitionFileMissing);
      const bytes = Buffer.from(text);
      return { body: Readable.from([bytes]), bytes: bytes.length, origin: ignition.file };
    },
  },
  url: {
    needs: 'ignition.url',
    place: ({ ignition }) => String(ignition.url),
    open: async ({ host, web }, { ignition }, { signal }) => {
      const { caFile } = ignition;
      const request = { peer: 'the server of ignition.url', signal, accept: ignitionAccept };
      const url = ignition.url.reveal();
      if (caFile === '') return web.open(url, request);
      const ca = await readTextOr({ host, signal }, caFile, ignitionFileMissing);
      return web.open(url, { ...request, ca });
    },
  },
  // One config for each role at `BUCKET/CLUSTER_ID/<role>.ign`, as in the install command of 2020.
  s3: {
    needs: 's3.endpoint and s3.bucket',
    place: ({ s3: { endpoint, bucket } }) =>
      endpoint.isEmpty || bucket === '' ? '' : `${String(endpoint)}, bucket ${bucket}`,
    open: ({ objects }, { s3, cluster }, { role, signal }) =>
      objects.get(s3.bucket, `${cluster.id}/${role}.ign`, signal),
  },
  // The inventory service knows this host and its role.
  service: {
    needs: 'service.url',
    place: ({ service }) => String(service.url),
    open: ({ inventory }, _config, { role, signal }) => inventory.hostIgnition(role, signal),
  },
};

const names = Object.keys(sources) as readonly SourceName[];

/**
 * Chooses the source of this host's Ignition config.
 * @throws AgentError `ignition.not-configured`
 */
export function chooseSource(config: Config) {
  const { source } = config.ignition;
  const name = source === 'auto' ? names.find((one) => sources[one].place(config) !== '') : source;
  const place = name === undefined ? '' : sources[name].place(config);
  if (name === undefined || place === '') {
    const what = name === undefined ? 'nothing is set' : `${sources[name].needs} is not set`;
    throw ignitionSourceFailure('ignition.not-configured', `no source of Ignition: ${what}`, {
      context: { source },
    });
  }
  const { needs, open } = sources[name];
  const because = source === 'auto' ? `${needs} is set` : 'set by ignition.source';
  return { name, open, because: `${place} (${because})` };
}

/** The choice as a plan prints it, or the reason why none is possible. */
export const explainSource = (config: Config): string =>
  choiceOr(() => {
    const { name, because } = chooseSource(config);
    return `from ${name}: ${because}`;
  });
