import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import type { Config } from '../../config/schema.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Ports } from '../../ports/ports.ts';
import { receive } from '../ignition/fetch-host.ts';
import { step } from '../step.ts';
import { bootstrapFailure } from './failures.ts';

/**
 * The image that applies bootstrap.ign.
 * @throws AgentError `bootstrap.no-mco-image`
 */
export function mcoImageOf({ images }: Pick<Config, 'images'>): string {
  if (images.mco !== '') return images.mco;
  throw bootstrapFailure('bootstrap.no-mco-image', 'no machine-config-operator image is given');
}

/** Finds out what the bootstrap would lack before a disk is touched for it. */
export const check = step({
  id: 'bootstrap/check',
  title: 'Check that everything for the bootstrap is known',
  uses: [],
  preflight: true,
  limit: seconds(5),
  run: async ({ config }) => {
    chooseBootstrapSource(config);
    mcoImageOf(config);
    if (config.images.controller === '' && config.service.url !== '') {
      throw bootstrapFailure('bootstrap.no-controller-image', 'no controller image is given');
    }
    await Promise.resolve();
  },
});

/** What bootstrap.ign is called, at the service and in the object store. */
const fileName = 'bootstrap.ign';

/** The ports that bootstrap.ign can come through. */
type BootstrapPorts = Pick<Ports, 'inventory' | 'objects'>;

/** Where bootstrap.ign comes from. */
interface BootstrapSource {
  /** For people, without credentials. */
  readonly place: string;
  readonly open: (ports: BootstrapPorts, signal: AbortSignal) => Promise<Download>;
}

/**
 * Chooses where bootstrap.ign comes from: the object store or the service, as `ignition.source`
 * says, else the object store where one is configured. A URL and a file are of one host; the
 * bootstrap config is of the cluster, so they do not serve for it.
 * @throws AgentError `bootstrap.no-source`
 */
export function chooseBootstrapSource(config: Config): BootstrapSource {
  const wanted = config.ignition.source;
  const [s3, service] = [fromS3(config), fromService(config)];
  const found = wanted === 's3' ? s3 : wanted === 'service' ? service : (s3 ?? service);
  if (found === undefined) {
    throw bootstrapFailure(
      'bootstrap.no-source',
      `${fileName} comes from the service or from an object store, and neither is configured`,
      { context: { source: wanted } },
    );
  }
  return found;
}

/** The choice as a plan tells it; a configuration that lacks a source is told, too. */
export function explainBootstrapSource(config: Config): string {
  try {
    return `from ${chooseBootstrapSource(config).place}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function fromS3({ s3, cluster }: Config): BootstrapSource | undefined {
  const { endpoint, bucket } = s3;
  if (endpoint === '' || bucket === '') return undefined;
  const key = `${cluster.id}/${fileName}`;
  return {
    place: `${shownUrl(endpoint)}, ${bucket}/${key}`,
    open: ({ objects }, signal) => objects.get(bucket, key, signal),
  };
}

function fromService({ service }: Config): BootstrapSource | undefined {
  if (service.url === '') return undefined;
  return {
    place: shownUrl(service.url),
    open: ({ inventory }, signal) => inventory.clusterFile(fileName, signal),
  };
}

/** The Ignition of the bootstrap host, as the service has it for the cluster. */
export const BootstrapIgnition = fact('ignition.bootstrap', z.strictObject({ path: z.string() }));

/** Where bootstrap.ign is kept; the machine-config-daemon reads it there. */
const bootstrapIgnitionPath = '/opt/install-dir/bootstrap.ign';

/** Fetches the Ignition of the bootstrap, and checks it as a whole before a byte is written. */
export const fetchIgnition = step({
  id: 'bootstrap/fetch-ignition',
  title: 'Fetch the Ignition of the bootstrap',
  uses: ['host', 'inventory', 'objects'],
  gives: BootstrapIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainBootstrapSource(config)}, to ${bootstrapIgnitionPath}`,
  run: async ({ host, inventory, objects, config, signal, note }) => {
    const source = chooseBootstrapSource(config);
    const download = await source.open({ inventory, objects }, signal);
    // The configured digest is that of this host's config, not of the cluster's.
    const { bytes } = await receive(download, { sha256: '' });
    for (const { message, path, rule } of parseValidConfig(bytes).warnings) {
      note('warn', `bootstrap.ign: ${message}`, { path, rule });
    }
    await host.writeFile(bootstrapIgnitionPath, bytes, { signal, mode: 0o600 });
    return { path: bootstrapIgnitionPath };
  },
});
