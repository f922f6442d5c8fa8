import { seconds } from '../model/duration.ts';
import type { StepScope } from './step.ts';

/**
 * Asks the host a question that a command answers by its exit code: 0 is yes, 1 is no.
 * @throws AgentError `command.*` for any other end
 */
export async function isTrue(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
): Promise<boolean> {
  const { exitCode } = await host.exec(argv, { signal, limit: seconds(20), accept: [0, 1] });
  return exitCode === 0;
}
