import type { Config } from '../../config/schema.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Ports } from '../../ports/ports.ts';
import { bootstrapFailure } from './failures.ts';

/** What bootstrap.ign is called, at the service and in the object store. */
const fileName = 'bootstrap.ign';

/** The ports that bootstrap.ign can come through. */
export type BootstrapPorts = Pick<Ports, 'inventory' | 'objects'>;

/** Where bootstrap.ign comes from. */
export interface BootstrapSource {
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
