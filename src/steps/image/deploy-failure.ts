import { asAgentError } from '../../engine/failures.ts';
import type { AgentError } from '../../model/failure.ts';
import { readPullComplaint } from '../../os/pull-trouble.ts';
import { imageFailure, type imageFailures } from './failures.ts';

/** Why a deployment failed. Errors of ours, such as a stop, stay as they are. */
export function deployFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const { trouble, cause: said } = readPullComplaint(String(error.context['stderr'] ?? ''));
  const code = trouble === undefined ? 'image.deploy-failed' : (`image.${trouble}` as const);
  return imageFailure(code, `${image}: ${said ?? error.message}`, { cause, context: { image } });
}

/**
 * What a failed deployment means for the first boot. ostree makes a deployment bootable last and at once, so
 * the disk boots the system of its image either way. Whether the node can then go over to the image by
 * itself depends on what was missing: a registry comes back, room and another processor do not.
 */
export function canPivotAtFirstBoot({ code }: Pick<AgentError, 'code'>): boolean {
  return !lasting.includes(code);
}

const lasting: readonly string[] = [
  'image.no-room',
  'image.wrong-architecture',
  'image.wrong-origin',
] satisfies readonly (keyof typeof imageFailures)[];
