import {
  type ApprovalReason,
  approved,
  readSigningRequest,
  type SigningRequest,
} from '../../cluster/csr/signing-request.ts';
import { certificateSigningRequests } from '../../cluster/kinds.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeMetadata } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

/** How often a request is read again when another writes it at the same time. */
const mostConflicts = 3;

/**
 * Approves a request, and resolves with its state afterwards. It is read first, as it is put back as a whole; what was verified
 * of it stays true, since only its status can change.
 * @throws AgentError `kube.*`
 */
export async function approveRequest(
  { kube, clock, signal }: Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>,
  { name, uid }: Pick<KubeMetadata, 'name' | 'uid'>,
  why: ApprovalReason,
): Promise<SigningRequest['state']> {
  const ref = { kind: certificateSigningRequests, name };
  for (let attempt = 1; ; attempt += 1) {
    const found = await kube.get(ref, signal);
    const asked = found && readSigningRequest(found);
    if (found === undefined || asked === undefined || asked.uid !== uid) return 'denied';
    if (asked.state !== 'pending') return asked.state;
    try {
      const next = approved(found, { ...why, at: clock.now() });
      await kube.replace(ref, next, { subresource: 'approval', signal });
      return 'approved';
    } catch (error) {
      const isConflict = error instanceof AgentError && error.code === 'kube.conflict';
      if (!isConflict || attempt >= mostConflicts) throw error;
    }
  }
}
