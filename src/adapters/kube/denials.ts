import { type Emit, notesOf } from '../../engine/events.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { ApiError } from './api-error.ts';
import { type ApiRequest, type ApiServer, isApiError } from './api-server.ts';
import type { Session } from './session.ts';

/**
 * A session whose servers are not asked again for what they forbid (403): it fails at once, in the
 * same way. What is remembered are the refusals of RBAC and of the one who may approve
 * certificates; others, of quotas or of pods, may pass. So may that of what was allowed before: an
 * API server that starts has not read its rules yet. A lease is asked for again a minute later, as
 * two controllers would work on the cluster otherwise.
 */
export function respectful(
  session: Session,
  { clock, emit }: { readonly clock: Clock; readonly emit: Emit },
): Session {
  const note = notesOf(emit, 'cluster/denied');
  const refused = new Map<string, { readonly failure: AgentError; readonly until: Millis }>();
  const allowed = new Set<string>();
  const guarded = (server: ApiServer): ApiServer => ({
    ask: async (what, signal, read) => {
      const permission = permissionOf(what);
      const known = refused.get(permission);
      if (known !== undefined && clock.elapsed() < known.until) {
        throw new ApiError(known.failure, { worth: 'none' });
      }
      try {
        return await server.ask(what, signal, (body) => {
          if (allowed.size >= mostRemembered) allowed.clear();
          allowed.add(permission);
          return read(body);
        });
      } catch (error) {
        if (!isApiError(error) || !isForbidden(error.failure)) throw error;
        const { failure } = error;
        if (isLasting(failure) && !allowed.has(permission)) {
          const isOfLease = permission.includes(' /apis/coordination.k8s.io/');
          const until = isOfLease ? clock.elapsed() + leaseAskedAfter : Infinity;
          refused.set(permission, { failure, until });
          const { code, message: reason } = failure;
          const text = 'the API server forbids a request, which is not sent again';
          if (known === undefined) note('info', text, { permission, code, reason });
        }
        throw new ApiError(failure, { worth: 'none' });
      }
    },
  });
  return { ...session, server: async (signal) => guarded(await session.server(signal)) };
}

const leaseAskedAfter: Millis = minutes(1);

/** A permission may name one of many objects. */
const mostRemembered = 1000;

/**
 * `watch /api/v1/nodes`: selectors of labels make no difference to RBAC, a name does; none names
 * the requests that may be approved.
 */
function permissionOf(request: ApiRequest): string {
  const { pathname, searchParams } = new URL(request.path, 'http://any');
  const many = searchParams.has('watch') ? 'watch' : searchParams.has('limit') ? 'list' : undefined;
  const field = searchParams.get('fieldSelector');
  const path = pathname.endsWith('/approval') ? 'approval' : pathname;
  const place = field === null ? path : `${path}?${field}`;
  return `${many ?? request.method} ${place}`;
}

/**
 * Whether a refusal stays: the words of k8s.io/apiserver (`responsewriters.Forbidden`) and of the
 * admission plug-in CertificateApproval. Where RBAC could not read a role it says so behind
 * `RBAC:`.
 */
const isLasting = ({ message }: AgentError): boolean =>
  /: User "[^"]*" cannot |: user not permitted to approve /.test(message) &&
  !message.includes(': RBAC: ');
