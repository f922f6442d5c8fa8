// What the controller in the cluster tells the inventory service, as a pure function.
import type { KubeObject } from '../../src/ports/kube.ts';
import type { HostRecord } from '../inventory/records.ts';
import type { HostPhase } from './cluster-state.ts';
import { kinds } from './objects.ts';
import type { ClusterWork } from './site.ts';

/** A report that the controller makes. */
interface ControllerReport {
  readonly hostId: string;
  readonly stage: 'Configuring' | 'Joined' | 'Done';
}

/** What the controller sees of a host. */
interface SeenHost {
  readonly host: Pick<HostRecord, 'id' | 'stage' | 'status'>;
  readonly phase: HostPhase;
  /** It asked a master for its Ignition, which is in the log of a pod. */
  readonly hasAsked: boolean;
}

/** The reports of one look (assisted-installer-controller, node status loop): Joined, Done, then Configuring. */
export function reportsOf(seen: readonly SeenHost[]): readonly ControllerReport[] {
  const open = seen.filter(({ host }) => host.status !== 'installed' && host.status !== 'error');
  return open.flatMap(({ host, phase, hasAsked }) => {
    const hasNode = phase === 'joining' || phase === 'ready';
    const stages: ControllerReport['stage'][] = [];
    if (!hasNode && hasAsked && !['Configuring', 'Joined', 'Done'].includes(host.stage)) {
      stages.push('Configuring');
    }
    if (hasNode && ['Configuring', 'Rebooting'].includes(host.stage)) stages.push('Joined');
    if (phase === 'ready') stages.push('Done');
    return stages.map((stage) => ({ hostId: host.id, stage }));
  });
}

/** How many masters must be done before workers go on. */
const ENOUGH = 2;

/** One look of the controller: it approves every request that waits, and reports how far hosts are. */
export async function controllerPoll(work: ClusterWork): Promise<void> {
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
