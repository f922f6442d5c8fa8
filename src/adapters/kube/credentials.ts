import { readUpTo } from '../../lib/read-up-to.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Inventory } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Credentials } from './session.ts';

/** Sources of a kubeconfig. */
export interface CredentialSources {
  readonly host: Pick<Host, 'readText'>;
  /** Path on the host; the bootstrap Ignition writes it. */
  readonly path: string;
  /** Asked if the host has no file; undefined without a service. */
  readonly inventory?: Pick<Inventory, 'kubeconfig'>;
  readonly clock: Clock;
}

/** Maximum size; a kubeconfig with certificates and keys has some ten kilobytes. */
const mostBytes = 1024 * 1024;

/** Interval of the check for the host's own file while the service is slow to answer. */
const fileInterval: Millis = seconds(1);

/** Pause between two requests to the service. */
const servicePause: Millis = seconds(10);

/** Errors of the service that end when the cluster has come far enough. */
const notYet: ReadonlySet<string> = new Set([
  ...['inventory.not-found', 'inventory.not-ready', 'inventory.refused'],
]);

/**
 * The kubeconfig of the cluster: the host's own file, or else the inventory service's, which does
 * not exist before the installation is under way (404, 409). The file has priority as soon as it
 * exists.
 * @throws AgentError `inventory.*` if the service fails, `kube.bad-credentials` if its answer is
 * too large; the signal's reason
 */
export function clusterCredentials(sources: CredentialSources): Credentials {
  const { host, path, inventory, clock } = sources;
  let askAfter = 0;
  const ownFile = async (signal: AbortSignal): Promise<string | undefined> => {
    const text = await host.readText(path, signal);
    if (text !== undefined && text.length > mostBytes) throw tooLarge(path);
    return text?.trim() === '' ? undefined : text;
  };
  const appears = async (signal: AbortSignal): Promise<string> => {
    for (;;) {
      await clock.sleep(fileInterval, signal);
      const text = await ownFile(signal);
      if (text !== undefined) return text;
    }
  };
  return async (signal) => {
    const own = await ownFile(signal);
    if (own !== undefined || inventory === undefined || clock.elapsed() < askAfter) return own;
    const done = new AbortController();
    const both = AbortSignal.any([signal, done.signal]);
    // The loser is stopped; its result does not matter then.
    const racers = [download(inventory, both), appears(both)];
    for (const racer of racers) racer.catch(() => undefined);
    try {
      return await Promise.race(racers);
    } finally {
      askAfter = clock.elapsed() + servicePause;
      done.abort(new Error('the kubeconfig was found elsewhere'));
    }
  };
}

async function download(
  inventory: Pick<Inventory, 'kubeconfig'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { body } = await inventory.kubeconfig(signal);
    const bytes = await readUpTo(body, mostBytes);
    if (bytes !== undefined) return bytes.toString('utf8');
  } catch (error) {
    if (error instanceof AgentError && notYet.has(error.code)) return undefined;
    throw error;
  }
  throw tooLarge('the kubeconfig of the inventory service');
}

const tooLarge = (what: string): Error =>
  kubeFailure('kube.bad-credentials', `${what} is larger than 1 MiB`);
