import {
  type BuilderName,
  type ImageAt,
  registryConfigArgv,
} from '../../layering/build/container-tools.ts';
import { type ImageFacts, readImageFacts } from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { classifyPullError, isNetworkFailure } from '../../os/pull-failure.ts';
import type { StepScope } from '../step.ts';

/** The ports for work on images, in an installation and in a command. */
export type ImageWork = Pick<
  StepScope<'host' | 'clock'>,
  'host' | 'clock' | 'signal' | 'progress' | 'alive' | 'note'
>;

/** The standard error of a failed command; undefined for other failures. */
export function stderrOf(error: unknown): string | undefined {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return undefined;
  const { stderr } = error.context;
  return typeof stderr === 'string' ? `${stderr}\n${error.message}` : error.message;
}

const attempts = 3;
const pause = seconds(10);

/**
 * Makes up to three attempts while the network fails.
 * @param what begins the message: `copying the base image`
 * @param otherwise the code if neither the network nor the credentials are the cause
 * @throws AgentError `layering.registry-unreachable`, `layering.registry-denied`, `otherwise`;
 * errors that are not from a command, unchanged
 */
export async function withTries<T>(
  { clock, signal, note }: ImageWork,
  what: string,
  otherwise: 'layering.copy-failed' | 'layering.push-failed',
  run: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      const stderr = stderrOf(error);
      if (stderr === undefined || !(error instanceof AgentError)) throw error;
      const { context } = error;
      const message = `${what}: ${error.message}`;
      const cause = classifyPullError(stderr);
      if (!isNetworkFailure(cause)) {
        const code = cause === 'not-authorized' ? 'layering.registry-denied' : otherwise;
        throw layeringFailure(code, message, { cause: error, context });
      }
      if (attempt >= attempts)
        throw layeringFailure('layering.registry-unreachable', message, { cause: error, context });
      note('warn', `${what} failed and is retried`, { reason: message, attempt });
      await clock.sleep(pause, signal);
    }
  }
}

/**
 * Finds the program for builds on this host: buildah, which the cluster's own builder runs, or
 * podman, which every CoreOS has and which builds with the same library.
 * @throws AgentError `layering.no-builder`
 */
export async function findBuilder({ host, signal }: ImageWork): Promise<BuilderName> {
  for (const name of ['buildah', 'podman'] as const) {
    try {
      await host.exec([name, '--version'], { signal, limit: minutes(2) });
      return name;
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'command.not-found') throw error;
    }
  }
  throw layeringFailure('layering.no-builder', 'the host has neither buildah nor podman');
}

/**
 * The architecture and labels of an image in a registry.
 * @throws AgentError `layering.image-unreadable`, `command.*`
 */
export async function registryFacts(
  { host, signal }: Pick<ImageWork, 'host' | 'signal'>,
  at: ImageAt,
): Promise<ImageFacts> {
  const { stdout } = await host.exec(registryConfigArgv(at), { signal, limit: minutes(2) });
  return readImageFacts(stdout, at.image);
}
