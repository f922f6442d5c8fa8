import {
  type ApprovalReason,
  approved,
  readSigningRequest,
  type SigningRequest,
} from '../../cluster/csr/signing-request.ts';
import { certificateSigningRequests } from '../../cluster/kinds.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

/** How often a request is read again when another writes it at the same time. */
const mostConflicts = 3;

/**
 * Approves a request. What was verified of it stays true when another writes it at the same time: only
 * its status can change.
 * @throws AgentError `kube.*`
 */
export async function approveRequest(
  { kube, clock, signal }: Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>,
  object: KubeObject,
  why: ApprovalReason,
): Promise<SigningRequest['state']> {
  const { name, uid } = object.metadata;
  const ref = { kind: certificateSigningRequests, name };
  let latest = object;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const next = approved(latest, { ...why, at: clock.now() });
      await kube.replace(ref, next, { subresource: 'approval', signal });
      return 'approved';
    } catch (error) {
      const isConflict = error instanceof AgentError && error.code === 'kube.conflict';
      if (!isConflict || attempt >= mostConflicts) throw error;
    }
    const found = await kube.get(ref, signal);
    const again = found && readSigningRequest(found);
    if (found === undefined || again === undefined || again.uid !== uid) return 'denied';
    if (again.state !== 'pending') return again.state;
    latest = found;
  }
}
