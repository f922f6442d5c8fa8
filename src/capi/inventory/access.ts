import { timingSafeEqual } from 'node:crypto';
import type { HonoRequest } from 'hono';
import { textAt } from '../../kube/object.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import { HttpRefusal } from '../../ports/http-route.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { type OwnedMetadata, tokenSecretName } from '../api.ts';
import { secrets } from '../../kube/kinds.ts';
import { asConfig } from '../bootstrap/status.ts';
import { hashOfToken } from '../bootstrap/controller.ts';
import {
  type BootstrapStores,
  configNameOf,
  type ConfigView,
  configView,
  tokenKeys,
} from '../bootstrap/stores.ts';
import { isControlledBy, objectKey } from '../objects.ts';

/** The caller by its token: one host of one cluster. */
export interface Caller extends ConfigView {
  readonly token: string;
  readonly hostId: string;
  readonly clusterId: string;
}

/** Stores and API server to look up hosts by their tokens. */
interface AccessScope {
  readonly stores: BootstrapStores;
  readonly kube: Pick<Kube, 'get'>;
}

/**
 * Identifies the caller. Looks the token up by its hash, so that no answer shows how close a wrong
 * token is.
 * @throws HttpRefusal 401 without a valid token, 503 before the first list, or if the token has not
 * been seen yet
 */
export async function callerOf(
  { stores, kube }: AccessScope,
  request: HonoRequest,
  signal: AbortSignal,
): Promise<Caller> {
  const { configs, machines, clusters, tokens } = stores;
  const token = request.header('x-secret-key') ?? '';
  const isToken = token !== '' && token.length <= 256;
  const view = isToken ? viewOfToken(stores, token) : undefined;
  if (view !== undefined)
    return {
      ...view,
      token,
      hostId: view.config.metadata.uid ?? '',
      clusterId: view.cluster.metadata.uid ?? '',
    };
  const isBehind = [configs, machines, clusters, tokens].some((one) => one.gap() !== undefined);
  const secret = isToken
    ? await unseenSecret({ stores, kube }, request.param('host'), signal)
    : undefined;
  throw isBehind || (secret !== undefined && isSame(hashOfToken(token), secret))
    ? new HttpRefusal(503, 'the inventory has not listed its hosts yet', { 'retry-after': '1' })
    : new HttpRefusal(401, 'unauthenticated for invalid credentials');
}

/**
 * Reads the token Secret of a host that the informer has not seen yet: a host may boot before the
 * watch event arrives.
 */
async function unseenSecret(
  { stores, kube }: AccessScope,
  host: string | undefined,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const [config] = stores.configs.by('uid', host ?? '');
  if (config === undefined) return undefined;
  const { namespace } = config.metadata;
  const name = tokenSecretName(config.metadata.name);
  const isSeen = stores.tokens.get(name, namespace) !== undefined;
  return isSeen ? undefined : kube.get({ kind: secrets, namespace, name }, signal);
}

function viewOfToken(stores: BootstrapStores, token: string): ConfigView | undefined {
  const hash = hashOfToken(token);
  const [secret] = stores.tokens.by('hash', Buffer.from(hash).toString('base64'));
  if (secret === undefined || !isSame(hash, secret)) return undefined;
  const owners = (secret.metadata as OwnedMetadata).ownerReferences ?? [];
  const [config] = owners.flatMap(({ uid }) => stores.configs.by('uid', uid)).map(asConfig);
  if (config === undefined || !isControlledBy(secret, config.metadata.uid)) return undefined;
  // A host that is being deleted or is installed may not call any more.
  if (config.metadata.deletionTimestamp !== undefined) return undefined;
  if (config.status?.progress?.stage === 'Done') return undefined;
  return configView(config, stores);
}

function isSame(hash: string, secret: KubeObject): boolean {
  const kept = Buffer.from(textAt(secret, 'data', tokenKeys.hash), 'base64');
  const given = Buffer.from(hash);
  return kept.length === given.length && timingSafeEqual(kept, given);
}

/**
 * @throws HttpRefusal 403 unless the ids in the path belong to the caller's cluster, and the host
 * id, if there is one, to a host of it
 */
export function requireOwn(
  { clusterId, hostId }: Caller,
  { cluster, infraEnv, host }: Readonly<Record<string, string>>,
): void {
  const isOwn = [cluster, infraEnv].every((id) => id === undefined || id === clusterId);
  if (!isOwn || (host !== undefined && host !== hostId)) throw forbidden();
}

const forbidden = (): HttpRefusal =>
  new HttpRefusal(403, 'the token is not for this host or cluster');

/** @throws HttpRefusal 403 for a host that is not the bootstrap host */
export function requireBootstrap({ role }: Caller): void {
  if (role !== 'bootstrap') throw forbidden();
}

/**
 * The host of a report: the caller's own. The bootstrap host also reports for the other hosts of
 * its cluster.
 * @throws HttpRefusal 403 for any other
 */
export function reportedHost(
  stores: BootstrapStores,
  caller: Caller,
  { infraEnv = '', host = '' }: Readonly<Record<string, string>>,
): ConfigView {
  requireOwn(caller, { infraEnv });
  if (host === caller.hostId) return caller;
  requireBootstrap(caller);
  const other = hostsOf(stores, caller).find(({ config }) => config.metadata.uid === host);
  if (other === undefined) throw forbidden();
  return other;
}

/** The hosts of the caller's cluster, from their Machines. */
export function hostsOf(stores: BootstrapStores, { cluster }: ConfigView): readonly ConfigView[] {
  const machines = stores.machines.by('cluster', objectKey(cluster));
  return machines.flatMap((machine) => {
    const config = stores.configs.get(configNameOf(machine), machine.metadata.namespace);
    const view = config && configView(asConfig(config), stores);
    return view === undefined || view.machine !== machine ? [] : [view];
  });
}

/** Rate limit of a host: burst, and requests per second. */
const allowed = { atOnce: 100, eachSecond: 20 } as const;

/** Limits the requests of each host separately, so that a faulty host slows down only itself. */
export function requestLimit(clock: Pick<Clock, 'elapsed'>): (hostId: string) => void {
  /** The time until which a host's requests use up its share; other hosts have no entry. */
  const usedUntil = new Map<string, Millis>();
  const share = seconds(1) / allowed.eachSecond;
  return (hostId) => {
    const now = clock.elapsed();
    for (const [id, until] of usedUntil) if (until <= now) usedUntil.delete(id);
    const until = (usedUntil.get(hostId) ?? now) + share;
    if (until - now > allowed.atOnce * share)
      throw new HttpRefusal(429, 'too many requests of this host', { 'retry-after': '1' });
    usedUntil.set(hostId, until);
  };
}
