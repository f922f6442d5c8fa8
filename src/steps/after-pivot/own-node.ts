import type { RequestPurpose } from '../../cluster/csr/signing-request.ts';
import { type Readiness } from '../../cluster/node.ts';
import { type Millis, minutes } from '../../model/duration.ts';

/** A request of the own node, and what became of it. */
export interface OwnRequest {
  readonly name: string;
  readonly purpose: RequestPurpose;
  readonly state: 'pending' | 'approved' | 'denied';
  /** Why a pending one is not approved. */
  readonly reason?: string;
}

/** Everything that is known of the own node at one moment. */
export interface OwnNodeSnapshot {
  readonly node: string;
  /** Undefined before it has joined. */
  readonly readiness: Readiness | undefined;
  /** For how long it has been seen Ready without a break. */
  readonly readyFor: Millis;
  readonly requests: readonly OwnRequest[];
}

/**
 * A node that is Ready for so long and asks for nothing has what it needs: approved requests are
 * taken away after an hour, and another may have approved them before anybody looked here.
 */
export const quietTime = minutes(10);

/** Whether the own node is done, and what is missing. */
export function statusOfOwnNode({ node, readiness, readyFor, requests }: OwnNodeSnapshot): {
  readonly isDone: boolean;
  readonly status: string;
} {
  const has = (purpose: RequestPurpose, state: OwnRequest['state']): boolean =>
    requests.some((request) => request.purpose === purpose && request.state === state);
  const isServing = has('serving', 'approved');
  const isQuiet = !has('serving', 'pending') && readyFor >= quietTime;
  const isReady = readiness?.isReady === true;
  const certificate = has('client', 'approved')
    ? 'has a client certificate'
    : 'has not asked for a client certificate';
  const about =
    readiness === undefined
      ? `${node} has not joined and ${certificate}`
      : readiness.isReady
        ? `${node} is Ready and ${isServing ? 'has' : 'waits for'} a serving certificate`
        : `${node} has joined and is not Ready: ${readiness.reason}`;
  const left = requests
    .filter(({ state }) => state === 'pending')
    .map(
      ({ name, reason }) =>
        `; certificate request ${name} is not approved: ${reason ?? 'not checked yet'}`,
    );
  return { isDone: isReady && (isServing || isQuiet), status: [about, ...left].join('') };
}
