import * as z from 'zod';
import { wholeSeconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';

/** The signers whose requests a kubelet makes (kubernetes.io, "Kubernetes signers"). */
export const kubeletSigners = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
} as const;

/** What a kubelet asks a certificate for: to reach the API server, or to be reached by it. */
export type RequestPurpose = keyof typeof kubeletSigners;

/** A request as the API server has it: who requests what of whom; it cannot change later. */
export interface SigningRequest {
  readonly name: string;
  readonly uid: string;
  readonly purpose: RequestPurpose;
  readonly username: string;
  readonly groups: readonly string[];
  /** The PKCS#10 request, PEM. */
  readonly pem: string;
  readonly state: 'pending' | 'approved' | 'denied';
}

const Wire = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.object({
    signerName: z.string(),
    username: z.string().default(''),
    groups: z.array(z.string()).default([]),
    request: z.string(),
  }),
  status: z.object({ conditions: z.array(z.object({ type: z.string() })).optional() }).optional(),
});

/** Reads a CertificateSigningRequest; undefined for one that no kubelet makes. */
export function readSigningRequest(object: KubeObject): SigningRequest | undefined {
  const read = Wire.safeParse(object);
  if (!read.success) return undefined;
  const { metadata, spec, status } = read.data;
  const purpose = purposeOf(spec.signerName);
  if (purpose === undefined) return undefined;
  return {
    ...metadata,
    purpose,
    username: spec.username,
    groups: spec.groups,
    pem: Buffer.from(spec.request, 'base64').toString('utf8'),
    state: stateOf(status?.conditions ?? []),
  };
}

function purposeOf(signer: string): RequestPurpose | undefined {
  if (signer === kubeletSigners.client) return 'client';
  return signer === kubeletSigners.serving ? 'serving' : undefined;
}

/** The state of any request, whoever is to sign it. */
export function requestState(object: KubeObject): SigningRequest['state'] {
  const { data } = z.object({ status: Wire.shape.status }).safeParse(object);
  return stateOf(data?.status?.conditions ?? []);
}

/** `Failed` is set by the signer; like `Denied` it is final. */
function stateOf(conditions: readonly { readonly type: string }[]): SigningRequest['state'] {
  if (conditions.some(({ type }) => type === 'Denied' || type === 'Failed')) return 'denied';
  return conditions.some(({ type }) => type === 'Approved') ? 'approved' : 'pending';
}

/** Why a request is approved, as its condition says it. */
export interface ApprovalReason {
  /** One word in camel case. */
  readonly reason: string;
  readonly message: string;
}

/** The request with the condition that approves it, to be put to its subresource `approval`. */
export function approved(
  object: KubeObject,
  { reason, message, at }: ApprovalReason & { readonly at: number },
): KubeObject {
  const status = z.looseObject({ conditions: z.array(z.unknown()).optional() });
  const before = status.safeParse(object['status']).data ?? {};
  const condition = {
    type: 'Approved',
    status: 'True',
    reason,
    message,
    lastUpdateTime: wholeSeconds(at),
  };
  const conditions = [...(before.conditions ?? []), condition];
  return { ...object, status: { ...before, conditions } };
}
