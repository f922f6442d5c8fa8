import type { KubeObject } from '../../src/ports/kube.ts';
import { reportsOf } from './controller.ts';
import { kinds } from './kinds.ts';
import type { ClusterWork } from './site.ts';

/** How many masters must be done before workers go on. */
const ENOUGH = 2;

/** One look of the controller: it approves every request that waits, and reports how far hosts are. */
export async function controllerLook(work: ClusterWork): Promise<void> {
  await approveAll(work);
  const { members, store, state, asked, marks } = work;
  const seen = members.flatMap(({ name, hostId }) => {
    const host = store.host(hostId);
    const phase = state().phases[name] ?? 'live';
    return host === undefined ? [] : [{ host, phase, hasAsked: asked.has(name) }];
  });
  for (const { hostId, stage } of reportsOf(seen)) store.report(hostId, { stage, info: '' }, 'v2');
  const done = store.hosts().filter(({ role, stage }) => role !== 'worker' && stage === 'Done');
  const step = 'control-plane/wait-for-masters';
  if (done.length >= ENOUGH && !marks.some((mark) => mark.step === step)) {
    marks.push({ step, readyAt: Date.now() });
  }
}

interface Condition {
  readonly type: string;
}

/** Conditions of an object. */
export function conditionsOf(object: KubeObject): readonly Condition[] {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } };
  return status?.conditions ?? [];
}

async function approveAll({ kube: { client } }: ClusterWork): Promise<void> {
  const kind = kinds.CertificateSigningRequest;
  const requests = await client.list({ kind });
  for (const request of requests.filter((one) => conditionsOf(one).length === 0)) {
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'NodeCSRApprove',
      message: 'This CSR was approved by the assisted-installer-controller',
      lastUpdateTime: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    };
    // Somebody else may be quicker; the request is approved either way.
    await client
      .replace(
        { kind, name: request.metadata.name },
        { ...request, status: { conditions: [condition] } },
        'approval',
      )
      .catch(() => undefined);
  }
}
