import { systemClock } from '../adapters/clock.ts';
import { hostLookup } from '../adapters/host/host-lookup.ts';
import { nsenterHost } from '../adapters/host/nsenter-host.ts';
import type { ConnectionOptions } from '../adapters/http/connection.ts';
import { type InventoryConnection, openInventory } from '../adapters/http/inventory.ts';
import type { RetryNotice } from '../adapters/http/retry.ts';
import { authoritiesIn } from '../adapters/http/tls.ts';
import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import { type Emit, notesOf } from '../engine/events.ts';
import { proxyEnv, revealedProxies } from '../lib/proxies.ts';
import { type Millis, renderDuration, seconds } from '../model/duration.ts';
import type { Host } from '../ports/host.ts';
import type { Inventory } from '../ports/inventory.ts';
import { Reporter, type ReporterOptions } from '../reporting/reporter.ts';
import { hostRole } from '../steps/ignition/fetch-host.ts';
import { cliFailure } from './failures.ts';

/** Timeout of one report; then the reporter checks for a newer one. */
const reportLimit = seconds(15);

interface ServiceContext {
  readonly environment: Environment;
  readonly emit: Emit;
  /** Of one call with its retries, unless the usual one of an installation. */
  readonly callLimit?: Millis | undefined;
}

/** A host, and the service that hears of its installation. */
interface ServiceReach {
  readonly host: Host;
  readonly inventory: InventoryConnection;
  /** How every other server is reached. */
  readonly network: ConnectionOptions;
}

/**
 * Opens what it takes to report for a host.
 * @throws AgentError `web.bad-authority`
 */
export async function openService(
  config: Config,
  { environment, emit, callLimit }: ServiceContext,
): Promise<ServiceReach> {
  const host = hostFor(config, environment, emit);
  const network = { ...(await networkOf(config)), lookup: hostLookup(config.host.root) };
  const onRetry = emitRetries(emit);
  const limits = { reportLimit, callLimit };
  const inventory = openInventory(config, { network, onRetry, ...limits });
  return { host, network, inventory };
}

/** The host that the settings mean. */
export function hostFor({ host, proxy }: Config, environment: Environment, emit: Emit): Host {
  const variables = proxyEnv(revealedProxies(proxy));
  return nsenterHost({ root: host.root, onCommand: emit, environment, variables });
}

/**
 * How every server but the API server is reached, by whatever command (ADR 0033).
 * @throws AgentError `web.bad-authority`
 */
export const networkOf = async ({ service, proxy }: Pick<Config, 'service' | 'proxy'>) => ({
  proxies: revealedProxies(proxy),
  ...(service.caFile === '' || service.insecure ? {} : { ca: await authoritiesIn(service.caFile) }),
});

/**
 * Takes the lock even for a run that is being stopped: only its holder may say that this host
 * failed.
 * @throws AgentError `cli.already-running` when another agent works on this host
 */
export async function takeAgentLock(host: Host, reporter: Reporter): Promise<void> {
  const lock = await host.lock('bootwright-agent', new AbortController().signal);
  if (lock !== undefined) return;
  // The other one continues, and reports for this host.
  reporter.close();
  throw cliFailure('cli.already-running', 'another agent is running on this host');
}

interface ReporterContext extends Pick<ReporterOptions, 'ladder' | 'mask' | 'emit' | 'onRefused'> {
  readonly inventory: Inventory;
}

/** Reports to the service that a configuration names; to none where it names none. */
export function reporterFor(config: Config, { inventory, ...context }: ReporterContext): Reporter {
  const { service, cluster } = config;
  const host = { infraEnvId: cluster.infraEnvId, hostId: cluster.hostId };
  const isReported = !service.url.isEmpty && cluster.hostId !== '';
  return new Reporter({
    ...context,
    clock: systemClock,
    send: async (report, signal) => {
      if (isReported) await inventory.report(host, report, signal);
    },
    listedHost: async (signal) =>
      (await inventory.hosts(hostRole(config), signal)).find(({ id }) => id === cluster.hostId),
  });
}

/** Logs each retry of a request. */
export const emitRetries =
  (emit: Emit) =>
  ({ what, failure, attempt, delay }: RetryNotice & { readonly what: string }): void => {
    const fields = {
      what,
      code: failure.code,
      reason: failure.message,
      attempt,
      delay: renderDuration(delay),
    };
    notesOf(emit, 'service/retry')('warn', 'a request failed and will be retried', fields);
  };
