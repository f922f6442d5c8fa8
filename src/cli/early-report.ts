import { derive, requireComplete } from '../config/complete.ts';
import { type Layer, mergeLayers, textIn } from '../config/settings.ts';
import type { Config } from '../config/schema.ts';
import { Secret } from '../model/secret.ts';
import type { Stage } from '../model/stage.ts';

/** A first report that can be sent before anything else is known. */
export interface ReportRequest {
  readonly stage: Stage;
  /** The role as it was given. */
  readonly info: string;
  /** Base URL of the inventory service. */
  readonly service: string;
  readonly infraEnvId: string;
  readonly hostId: string;
  readonly token: Secret;
  readonly isInsecure: boolean;
  /** PEM file with certificates to trust beside the system's; empty for none. */
  readonly caFile: string;
  /** Addresses that need no proxy; empty: as the environment says. */
  readonly noProxy: string;
}

/**
 * Decides whether the first report can leave before the rest of the program is loaded: the line
 * must be complete, and name a version 2 service and this host. Undefined when the report has to
 * wait; then the run sends it.
 * @throws AgentError `config.incomplete` when an install cannot start at all
 */
export function decideEarlyReport(layers: readonly Layer[]): ReportRequest | undefined {
  const given = derive(mergeLayers(layers));
  requireComplete(given);
  const service = textIn(given, 'service.url');
  const infraEnvId = textIn(given, 'cluster.infraEnvId');
  const hostId = textIn(given, 'cluster.hostId');
  if (service === '' || infraEnvId === '' || hostId === '') return undefined;
  if (textIn(given, 'service.api', 'v2') !== 'v2') return undefined;
  if (textIn(given, 'service.tokenFile') !== '') return undefined;
  if (textIn(given, 'dry.clusterHosts') !== '') return undefined;
  const token = given.get('service.token')?.value;
  return {
    stage: 'Starting installation',
    info: textIn(given, 'role', 'master'),
    service,
    infraEnvId,
    hostId,
    token: token instanceof Secret ? token : new Secret(''),
    isInsecure: given.get('service.insecure')?.value === true,
    caFile: textIn(given, 'service.caFile'),
    noProxy: textIn(given, 'proxy.no'),
  };
}

/** Where an earlier run keeps its journal, by what the settings say. */
export function journalPathOf(layers: readonly Layer[]): string {
  const given = mergeLayers(layers);
  const reach = textIn(given, 'host.reach') === 'dry' ? 'dry' : 'nsenter';
  return journalPathFor({
    host: { reach, root: textIn(given, 'host.root', '/') },
    dry: { hostId: textIn(given, 'dry.hostId') },
  });
}

/** The part of a configuration that names the journal. */
export interface JournalOwner {
  readonly host: Pick<Config['host'], 'reach' | 'root'>;
  readonly dry: Pick<Config['dry'], 'hostId'>;
}

/**
 * The journal of a host, seen from its root. Dry agents share one machine, so the journal of each
 * carries its id.
 */
export function journalPathFor({ host, dry }: JournalOwner): string {
  const isNamed = host.reach === 'dry' && dry.hostId !== '';
  const name = isNamed ? `journal-${encodeURIComponent(dry.hostId)}.jsonl` : 'journal.jsonl';
  return `${host.root.replace(/\/+$/, '')}/opt/install-dir/${name}`;
}
