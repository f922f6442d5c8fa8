import { troubleIn } from '../../../layering/build/container-tools.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { seconds } from '../../../model/duration.ts';
import { AgentError } from '../../../model/failure.ts';
import type { StepScope } from '../../step.ts';

/** What work on images has at hand, in an installation and behind a command alike. */
export interface ImageWork extends Pick<
  StepScope<'host' | 'clock'>,
  'host' | 'clock' | 'signal' | 'progress' | 'note'
> {
  /** Proxies, for every command that reaches a registry. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a command said on its standard error; undefined when something else failed. */
export function saidBy(error: unknown): string | undefined {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return undefined;
  const { stderr } = error.context;
  return typeof stderr === 'string' ? `${stderr}\n${error.message}` : error.message;
}

/** What is tried, and what it means when it fails for good. */
export interface Tried {
  /** `copying the base image`: begins the message. */
  readonly what: string;
  /** When neither the network nor the credentials are to blame. */
  readonly otherwise: 'layering.copy-failed' | 'layering.push-failed';
}

const attempts = 3;
const pause = seconds(10);

/**
 * Tries three times while it is the network that fails.
 * @throws AgentError `layering.registry-unreachable`, `layering.registry-denied`, what is said for all else, and
 * what is no failure of a command as it is
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
      note('warn', `${tried.what} failed and is tried again`, { reason: failure.message, attempt });
      await clock.sleep(pause, signal);
    }
  }
}

const codes = {
  network: 'layering.registry-unreachable',
  denied: 'layering.registry-denied',
} as const;

function explained(error: unknown, { what, otherwise }: Tried): AgentError {
  const said = saidBy(error);
  if (said === undefined || !(error instanceof AgentError)) throw error;
  const trouble = troubleIn(said);
  const code = trouble === 'network' || trouble === 'denied' ? codes[trouble] : otherwise;
  return layeringFailure(code, `${what}: ${error.message}`, {
    cause: error,
    context: error.context,
  });
}
