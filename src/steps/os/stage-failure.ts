import { asAgentError } from '../../engine/failures.ts';
import type { AgentError } from '../../model/failure.ts';
import { osFailure, type osFailures } from '../../os/failures.ts';
import { type PullTrouble, readPullComplaint } from '../../os/pull-trouble.ts';

const codes: Readonly<Record<PullTrouble, keyof typeof osFailures>> = {
  'wrong-architecture': 'os.wrong-architecture',
  'no-room': 'os.no-space',
  'registry-unreachable': 'os.image-unreachable',
  'pull-cut': 'os.pull-cut',
};

/** Why an image could not be staged. What is no trouble of a pull, and errors of ours such as a stop, stay as they are. */
export function stageFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const complaint = readPullComplaint(String(error.context['stderr'] ?? ''));
  return complaint.trouble === undefined
    ? error
    : osFailure(codes[complaint.trouble], `${image}: ${complaint.cause ?? error.message}`, {
        cause,
        context: { image },
      });
}
