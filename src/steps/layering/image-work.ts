import type { Config } from '../../config/schema.ts';
import {
  type Builder,
  type BuilderChoice,
  type BuilderName,
  builderVersionArgv,
  chooseBuilder,
  localConfigArgv,
  classifyPullError,
} from '../../layering/build/container-tools.ts';
import { type ImageFacts, readImageFacts } from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { proxyEnv, revealedProxies } from '../../lib/proxies.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { StepScope } from '../step.ts';

/** What work on images has at hand, in an installation and behind a command alike. */
export interface ImageWork extends Pick<
  StepScope<'host' | 'clock'>,
  'host' | 'clock' | 'signal' | 'progress' | 'alive' | 'note'
> {
  /** Names of the build arguments that hand proxies on; every command has the variables. */
  readonly buildArguments: readonly string[];
}

/** What a command said on its standard error; undefined when something else failed. */
export function stderrOf(error: unknown): string | undefined {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return undefined;
  const { stderr } = error.context;
  return typeof stderr === 'string' ? `${stderr}\n${error.message}` : error.message;
}

interface Tried {
  /** `copying the base image`: begins the message. */
  readonly what: string;
  /** When neither the network nor the credentials are to blame. */
  readonly otherwise: 'layering.copy-failed' | 'layering.push-failed';
}

const attempts = 3;
const pause = seconds(10);

/**
 * Tries three times while it is the network that fails.
 * @throws AgentError `layering.registry-unreachable`, `layering.registry-denied`, what is said for
 * all else, and what is no failure of a command as it is
 */
export async function withTries<T>(
  { clock, signal, note }: ImageWork,
  tried: Tried,
  run: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      const failure = explained(error, tried);
      if (failure.code !== 'layering.registry-unreachable' || attempt >= attempts) throw failure;
      note('warn', `${tried.what} failed and is retried`, { reason: failure.message, attempt });
      await clock.sleep(pause, signal);
    }
  }
}

const codes = {
  network: 'layering.registry-unreachable',
  denied: 'layering.registry-denied',
} as const;

function explained(error: unknown, { what, otherwise }: Tried): AgentError {
  const said = stderrOf(error);
  if (said === undefined || !(error instanceof AgentError)) throw error;
  const cause = classifyPullError(said);
  const code = cause === 'network' || cause === 'denied' ? codes[cause] : otherwise;
  return layeringFailure(code, `${what}: ${error.message}`, {
    cause: error,
    context: error.context,
  });
}

/** Proxies may hold a password, so that the argv has their names alone. */
const proxyArguments = (proxy: Config['proxy']): readonly string[] =>
  Object.keys(proxyEnv(revealedProxies(proxy))).filter((name) => name === name.toUpperCase());

/** Work on images within an installation. */
export const imageWork = (scope: StepScope<'host' | 'clock'>): ImageWork => {
  const { host, clock, signal, progress, alive, note, config } = scope;
  const buildArguments = proxyArguments(config.proxy);
  return { host, clock, signal, progress, alive, note, buildArguments };
};

const builderNames: readonly BuilderName[] = ['buildah', 'podman'];

/**
 * Finds the program that builds on this host.
 * @throws AgentError `layering.no-builder`
 */
export async function findBuilder(work: ImageWork): Promise<BuilderChoice> {
  const there = new Set<BuilderName>();
  for (const name of builderNames) if (await isThere(work, name)) there.add(name);
  const choice = chooseBuilder(there);
  if (choice !== undefined) return choice;
  throw layeringFailure('layering.no-builder', 'the host has neither buildah nor podman');
}

async function isThere({ host, signal }: ImageWork, name: BuilderName): Promise<boolean> {
  try {
    await host.exec(builderVersionArgv(name), { signal, limit: seconds(30) });
    return true;
  } catch (error) {
    if (error instanceof AgentError && error.code === 'command.not-found') return false;
    throw error;
  }
}

/**
 * What an image of the store says of itself.
 * @throws AgentError `layering.image-unreadable`
 */
export async function factsOf(
  work: ImageWork,
  builder: Builder,
  image: string,
): Promise<ImageFacts> {
  const { host, signal } = work;
  const { stdout } = await host
    .exec(localConfigArgv(builder, image), { signal, limit: minutes(2) })
    .catch((error: unknown) => {
      throw unreadable(error, image);
    });
  return readImageFacts(stdout, image);
}

/** A command that could not look at an image; any other error is what it is. */
export function unreadable(error: unknown, image: string): unknown {
  const said = stderrOf(error);
  if (said === undefined || !(error instanceof Error)) return error;
  return layeringFailure('layering.image-unreadable', `${image}: ${error.message}`, {
    cause: error,
  });
}
