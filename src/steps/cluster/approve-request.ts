import {
  type ApprovalReason,
  approved,
  readSigningRequest,
  type SigningRequest,
} from '../../cluster/csr/signing-request.ts';
import { readPkcs10 } from '../../cluster/csr/pkcs10.ts';
import { keyRefusal, type RefusalCause } from '../../cluster/csr/verify.ts';
import { certificateSigningRequests } from '../../cluster/kinds.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeMetadata } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

/** How often a request is read again when another writes it at the same time. */
const mostConflicts = 3;

/** What became of a request. */
interface RequestAnswer {
  readonly state: SigningRequest['state'];
  /** Why it is not approved. */
  readonly cause?: RefusalCause;
}

/**
 * Approves a request if its key is right. All else of it must have been verified, and stays true: only its status can change.
 * It is read first, as it is put back as a whole; `isStillRight` is asked last, about what is not in the request.
 * @throws AgentError `kube.*`
 */
export async function approveRequest(
  { kube, clock, signal }: Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>,
  { name, uid }: Pick<KubeMetadata, 'name' | 'uid'>,
  { isStillRight, ...why }: ApprovalReason & { readonly isStillRight: () => Promise<boolean> },
): Promise<RequestAnswer> {
  const ref = { kind: certificateSigningRequests, name };
  for (let attempt = 1; ; attempt += 1) {
    const found = await kube.get(ref, signal);
    const asked = found && readSigningRequest(found);
    if (found === undefined || asked === undefined || asked.uid !== uid) return { state: 'denied' };
    if (asked.state !== 'pending') return { state: asked.state };
    if (!hasRightKey(asked)) return { state: 'pending', cause: 'key' };
    if (!(await isStillRight())) return { state: 'pending' };
    try {
      const next = approved(found, { ...why, at: clock.now() });
      await kube.replace(ref, next, { subresource: 'approval', signal });
      return { state: 'approved' };
    } catch (error) {
      if (!isConflict(error) || attempt >= mostConflicts) throw error;
    }
  }
}

const isConflict = (error: unknown): boolean =>
  error instanceof AgentError && error.code === 'kube.conflict';

function hasRightKey({ pem }: SigningRequest): boolean {
  const content = readPkcs10(pem);
  return content !== undefined && keyRefusal(content) === undefined;
}
