import { asAgentError } from '../../engine/failures.ts';
import type { AgentError } from '../../model/failure.ts';
import { imageFailure, type imageFailures } from './failures.ts';

interface Signature {
  readonly pattern: RegExp;
  readonly code: keyof typeof imageFailures;
}

/**
 * Sentences of `ostree container image deploy` (ostree-rs-ext 0.15) and of the skopeo behind it, and what
 * they mean. The first that is found counts: a registry that is gone is said beside the pull that it cut.
 */
const signatures: readonly Signature[] = [
  {
    pattern: /Image has architecture|no image found in .* for architecture/,
    code: 'image.wrong-architecture',
  },
  {
    pattern: /min-free-space-(percent|size) .* would be exceeded|No space left on device/,
    code: 'image.no-room',
  },
  {
    pattern: /connection refused|no route to host|network is unreachable|no such host|i\/o timeout/,
    code: 'image.registry-unreachable',
  },
  {
    pattern: /unexpected EOF|connection reset|incomplete deflate stream|unexpected end of file/,
    code: 'image.pull-cut',
  },
];

/** Why a deployment failed. Errors of ours, such as a stop, stay as they are. */
export function deployFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const said = String(error.context['stderr'] ?? '');
  const code = signatures.find(({ pattern }) => pattern.test(said))?.code ?? 'image.deploy-failed';
  return imageFailure(code, `${image}: ${lastCauseIn(said) ?? error.message}`, {
    cause,
    context: { image },
  });
}

/** The innermost of the causes that the program counts up, which says most. */
function lastCauseIn(said: string): string | undefined {
  const causes = [...said.matchAll(/^ +\d+: (.+)$/gm)].map(([, text]) => text ?? '');
  const telling = causes.find((text) => signatures.some(({ pattern }) => pattern.test(text)));
  return telling ?? causes.at(-1);
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
