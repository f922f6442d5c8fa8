import { type ExpectedNode, isAbout, verifyRequest } from '../../cluster/csr/verify.ts';
import { type CertificateRequest, readPkcs10 } from '../../cluster/csr/pkcs10.ts';
import { readSigningRequest, type SigningRequest } from '../../cluster/csr/signing-request.ts';
import { certificateSigningRequests, nodes } from '../../cluster/kinds.ts';
import { readinessOf } from '../../cluster/node.ts';
import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import {
  followed,
  followedOne,
  type Followed,
  gapAmong,
  longestWait,
  together,
} from '../cluster/kube-watch.ts';
import { approveRequest } from '../cluster/approve-request.ts';
import { step, type StepScope } from '../step.ts';
import { clientKeyPatch, FoundRecord, type PivotRecord, recordRef } from './record.ts';
import { type OwnRequest, statusOfOwnNode } from './own-node.ts';

/**
 * Approves the certificate requests of the host that has left for this cluster, and of no other,
 * until its node is Ready. Whatever is not wholly as expected is left for others to decide.
 */
export const approveOwnRequests = step({
  id: 'after-pivot/approve-requests',
  title: 'Approve the certificate requests of the bootstrap host',
  uses: ['kube', 'clock'],
  needs: { record: FoundRecord },
  skipIf: ({ record }) => (record === null ? 'there is no record of a bootstrap host' : undefined),
  limit: longestWait + minutes(10),
  waitsFor: 'the node of the host to be Ready with a serving certificate, at most 24 hours',
  run: async (scope, { record }) => {
    if (record === null) return;
    const requests = followed(scope.kube, { kind: certificateSigningRequests });
    const node = followedOne(scope.kube, { kind: nodes, name: record.node });
    await scope.until(`node ${record.node} is Ready`, looking(scope, record, { requests, node }), {
      watch: together(requests.watch, node.watch),
      every: seconds(30),
      within: longestWait,
    });
    scope.note('info', `node ${record.node} is Ready`);
  },
});

type ApproveScope = StepScope<'kube' | 'clock'>;

interface Views {
  readonly requests: Followed;
  readonly node: Followed;
}

/** What is remembered between looks. A request itself never changes, so it is read once. */
interface Memory {
  readonly read: Map<string, CertificateRequest | undefined>;
  readonly refused: Set<string>;
  clientKey: string | undefined;
  readySince: number | undefined;
}

/** A request with its content. */
interface ReadRequest {
  readonly object: KubeObject;
  readonly asked: SigningRequest;
  readonly content: CertificateRequest | undefined;
}

function looking(
  scope: ApproveScope,
  record: PivotRecord,
  { requests, node }: Views,
): () => Promise<PollResult<true>> {
  const { clock } = scope;
  const memory: Memory = {
    read: new Map(),
    refused: new Set(),
    clientKey: record.clientKey,
    readySince: undefined,
  };
  return async () => {
    const gap = gapAmong(requests, node);
    if (gap !== undefined) return { status: gap };
    const [there] = node.view().objects;
    const readiness = there && readinessOf(there);
    const now = clock.elapsed();
    memory.readySince = readiness?.isReady === true ? (memory.readySince ?? now) : undefined;
    const own = await ownAmong(requests.view().objects, record, memory);
    const outcomes: OwnRequest[] = [];
    for (const one of own) {
      const hasJoined = there !== undefined;
      outcomes.push(await decide(scope, one, { record, memory, hasJoined }));
    }
    const readyFor = memory.readySince === undefined ? 0 : now - memory.readySince;
    const snapshot = { node: record.node, readiness, readyFor, requests: outcomes };
    const { isDone, status } = statusOfOwnNode(snapshot);
    return isDone ? { done: true } : { status };
  };
}

/** The requests that are about the own node; the keys of approved ones count from then on. */
async function ownAmong(
  objects: readonly KubeObject[],
  { node }: PivotRecord,
  memory: Memory,
): Promise<readonly ReadRequest[]> {
  const own: ReadRequest[] = [];
  for (const object of objects) {
    const asked = readSigningRequest(object);
    if (asked === undefined) continue;
    if (!memory.read.has(asked.uid)) memory.read.set(asked.uid, await readPkcs10(asked.pem));
    const content = memory.read.get(asked.uid);
    if (isAbout(asked, content, node)) own.push({ object, asked, content });
  }
  const first = own.find(({ asked }) => asked.purpose === 'client' && asked.state === 'approved');
  memory.clientKey ??= first?.content?.key;
  return own;
}

interface Circumstances {
  readonly record: PivotRecord;
  readonly memory: Memory;
  readonly hasJoined: boolean;
}

async function decide(
  scope: ApproveScope,
  request: ReadRequest,
  { record, memory, hasJoined }: Circumstances,
): Promise<OwnRequest> {
  const { asked, content } = request;
  const { name, purpose, state } = asked;
  if (state !== 'pending') return { name, purpose, state };
  const { clientKey } = memory;
  const expected: ExpectedNode = {
    name: record.node,
    addresses: record.addresses,
    hasJoined,
    ...(clientKey === undefined ? {} : { clientKey }),
  };
  const verdict = verifyRequest(asked, content, expected);
  if (verdict.kind !== 'approve') {
    const reason = verdict.kind === 'refuse' ? verdict.reason : 'it is of another node';
    if (!memory.refused.has(asked.uid)) {
      scope.note('warn', `certificate request ${name} is not approved: ${reason}`, { purpose });
    }
    memory.refused.add(asked.uid);
    return { name, purpose, state, reason };
  }
  try {
    if (purpose === 'client' && content !== undefined) await pinKey(scope, memory, content.key);
    const why = {
      reason: 'BootwrightAfterPivot',
      message: `bootwright after-pivot: the ${purpose} certificate of node ${record.node}`,
    };
    return { name, purpose, state: await approveRequest(scope, request.object, why) };
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code === 'kube.denied') throw error;
    return { name, purpose, state, reason: `it could not be approved (${error.code})` };
  }
}

/** Remembers the key before it is approved, so that no later run approves a second one. */
async function pinKey({ kube, signal }: ApproveScope, memory: Memory, key: string): Promise<void> {
  if (memory.clientKey !== undefined) return;
  await kube.patch(recordRef, clientKeyPatch(key), signal);
  memory.clientKey = key;
}
