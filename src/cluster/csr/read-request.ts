import type { KubeMetadata, KubeObject } from '../../ports/kube.ts';
import { readPkcs10 } from './pkcs10.ts';
import {
  readSigningRequest,
  requestState,
  type RequestPurpose,
  type SigningRequest,
} from './signing-request.ts';
import {
  keyRefusal,
  type KubeletClaim,
  mayAsk,
  nodeBootstrapper,
  nodeOf,
  readClaim,
  type RefusalCause,
} from './verify.ts';

/** What is to be decided on a request by. */
type Reading = Pick<ReadRequest, 'state' | 'purpose' | 'username' | 'claim' | 'cause'>;

/**
 * A CertificateSigningRequest that was read, with nothing of it that is not needed to decide on it: a cluster may have ten
 * thousand. Whoever changes one reads it from the API server first.
 */
export class ReadRequest implements KubeObject {
  readonly [member: string]: unknown;
  readonly metadata: KubeMetadata;
  readonly state: SigningRequest['state'];
  /** Undefined for one that no kubelet makes. */
  readonly purpose: RequestPurpose | undefined;
  /** Who asks; empty for one that no kubelet makes. */
  readonly username: string;
  /** What it is for, of one that may be approved if its key is right, or was. */
  readonly claim: KubeletClaim | undefined;
  /** Why it can never be approved. */
  readonly cause: RefusalCause | undefined;

  constructor(metadata: KubeMetadata, { state, purpose, username, claim, cause }: Reading) {
    this.metadata = metadata;
    this.state = state;
    this.purpose = purpose;
    this.username = username;
    this.claim = claim;
    this.cause = cause;
  }
}

/** A kubelet's has a thousand letters. */
const longestRequest = 16 * 1024;

/** Reads a request: only once, as its spec cannot change, and its content only where that counts. */
export function readRequest(object: KubeObject): ReadRequest {
  if (object instanceof ReadRequest) return object;
  const { name, uid = '', resourceVersion = '', creationTimestamp = '' } = object.metadata;
  return new ReadRequest({ name, uid, resourceVersion, creationTimestamp }, readingOf(object));
}

function readingOf(object: KubeObject): Reading {
  const asked = readSigningRequest(object);
  if (asked === undefined) {
    const state = requestState(object);
    return { state, purpose: undefined, username: '', claim: undefined, cause: 'signer' };
  }
  const { state, purpose, username } = asked;
  const isBootstrapper = username === nodeBootstrapper.username;
  const reading: Reading = {
    ...{ state, purpose, claim: undefined, cause: undefined },
    // Thousands of requests have the same.
    username: isBootstrapper ? nodeBootstrapper.username : username,
  };
  const isOver = state === 'denied' || (state === 'approved' && purpose === 'serving');
  return isOver ? reading : { ...reading, ...claimOf(asked) };
}

/** What a request is for, or why it can never be approved. */
function claimOf(asked: SigningRequest): Partial<Pick<Reading, 'claim' | 'cause'>> {
  if (!mayAsk(asked)) return { cause: 'requestor' };
  const content = asked.pem.length > longestRequest ? undefined : readPkcs10(asked.pem);
  const node = nodeOf(asked, content);
  if (node === undefined) return { cause: content ? 'subject' : 'unreadable' };
  const claim = readClaim(asked, content, node);
  if ('cause' in claim) return { cause: claim.cause };
  // Of one that waits the key is checked before it is approved: nearly all of thousands never are.
  const refusal = asked.state === 'approved' && content ? keyRefusal(content) : undefined;
  return refusal ? { cause: 'key' } : { claim };
}
