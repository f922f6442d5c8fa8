import * as z from 'zod';
import { bareMetalHosts, machines as machineKind, provisionings } from '../../cluster/kinds.ts';
import { annotationOf, partOf, textAt } from '../../layering/api/cluster-object.ts';
import { asAgentError } from '../../engine/failures.ts';
import { jsonIn } from '../../lib/json.ts';
import { wholeSeconds } from '../../model/duration.ts';
import type { KubeObject, KubePatch, KubeRef } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { followed, gapAmong, together } from '../cluster/kube-watch.ts';
import { NewCluster } from './new-cluster.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { controllerStep } from './world.ts';

const namespace = 'openshift-machine-api';

const statusAnnotation = 'baremetalhost.metal3.io/status';
const pausedAnnotation = 'baremetalhost.metal3.io/paused';

const provisioningRef: KubeRef = { kind: provisionings, name: 'provisioning-configuration' };

/**
 * Gives each BareMetalHost its machine, and what the installer knows of it, so that the bare metal operator takes the
 * host as it is. Only on the platform `baremetal`.
 */
export const registerBareMetalHosts = controllerStep({
  id: 'controller/register-bare-metal-hosts',
  title: 'Register the installed hosts as the bare metal operator knows them',
  uses: ['kube', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: ({ cluster: { platform } }) =>
    platform === 'baremetal' ? undefined : 'the platform is not baremetal',
  limit: noLimit,
  waitsFor: 'each BareMetalHost to have its machine',
  run: async (scope) => {
    const { kube, clock, note } = scope;
    const hosts = followed(kube, { kind: bareMetalHosts, namespace });
    const machines = followed(kube, { kind: machineKind, namespace });
    const refused = new Set<string>();
    const written = new Set<string>();
    await reconcile<MetalSeen, HostChange>(scope, 'the bare metal hosts are registered', {
      watch: together(hosts.watch, machines.watch),
      observe: async (signal) => {
        const gap = gapAmong(hosts, machines);
        if (gap !== undefined) return { gap };
        try {
          // A kind that is not served counts as not there: the one that is replaced asks without an end.
          const hasProvisioning = (await kube.get(provisioningRef, signal)) !== undefined;
          const [seen, there] = [hosts.view().objects, machines.view().objects];
          const open = seen.filter(({ metadata: { uid = '' } }) => !refused.has(uid));
          return { hosts: open, machines: there, hasProvisioning, written, now: clock.now() };
        } catch (error) {
          signal.throwIfAborted();
          return { gap: `the Provisioning cannot be read (${asAgentError(error).code})` };
        }
      },
      decide: hostChanges,
      apply: async ({ host, status, change }, signal) => {
        const { name, uid = '' } = host.metadata;
        const ref = { kind: bareMetalHosts, namespace, name };
        try {
          let { resourceVersion } = host.metadata;
          if (status !== undefined) {
            ({ resourceVersion } = (await kube.patch(ref, status, signal)).metadata);
            written.add(uid);
          }
          if (change === undefined) return;
          // With the version: another may give the host a machine at the same time.
          const metadata = { resourceVersion, annotations: change.annotations };
          const body = { metadata, spec: change.spec };
          await kube.patch(ref, { type: 'merge', body }, signal);
          note('info', `BareMetalHost ${name} is registered`);
        } catch (error) {
          if (!isForbidden(error)) throw error;
          const { message } = error;
          refused.add(uid);
          note('warn', `BareMetalHost ${name} may not be changed`, { reason: message });
        }
      },
    });
  },
});

/** What the cluster has of its hosts, or why that is not known. */
type MetalSeen =
  | { readonly gap: string }
  | {
      readonly hosts: readonly KubeObject[];
      readonly machines: readonly KubeObject[];
      /** The cluster provisions hosts itself. */
      readonly hasProvisioning: boolean;
      /** Ids of hosts whose status has been written by this process. */
      readonly written: ReadonlySet<string>;
      /** Milliseconds since 1970. */
      readonly now: number;
    };

/** A part of a merge patch. */
interface SpecChange {
  readonly annotations: Readonly<Record<string, null>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

interface HostChange extends Action {
  readonly host: KubeObject;
  /** Comes first: the annotation that it is made from goes with the rest. */
  readonly status?: KubePatch;
  readonly change?: SpecChange;
}

/**
 * What is to be changed of each host. One that has no machine yet is left as it is until there is one, except for its
 * status.
 */
export function hostChanges(seen: MetalSeen): Decision<HostChange> {
  if ('gap' in seen) return { actions: [], missing: seen.gap };
  const { hosts, machines, hasProvisioning } = seen;
  const free = freeMachines(hosts, machines);
  const relevant = hosts.filter((host) => !hasProvisioning || isUnmanaged(host));
  const plans = relevant.map((host) => planOf(host, seen, () => free.shift()));
  const actions = plans.flatMap(({ action }) => action ?? []);
  const missing = plans.flatMap(({ missing: text }) => text ?? []);
  const text = [...missing, ...actions.map(({ key }) => key)].join(', ');
  return { actions, missing: text === '' ? undefined : text };
}

interface HostPlan {
  readonly action?: HostChange;
  readonly missing?: string;
}

function planOf(
  host: KubeObject,
  { hasProvisioning, written, now }: Exclude<MetalSeen, { readonly gap: string }>,
  takeMachine: () => KubeObject | undefined,
): HostPlan {
  const { name, uid = '' } = host.metadata;
  const status = hasProvisioning || written.has(uid) ? undefined : statusPatch(host, now);
  if (status === 'unreadable') return { missing: `the status of ${name} cannot be read` };
  const key = `BareMetalHost ${name}`;
  const machine = hasConsumer(host) ? undefined : takeMachine();
  if (!hasConsumer(host) && machine === undefined) {
    const missing = `no machine for ${name} yet`;
    return status === undefined ? { missing } : { missing, action: { key, host, status } };
  }
  const change = specChange(host, machine, hasProvisioning);
  if (status === undefined) return change === undefined ? {} : { action: { key, host, change } };
  return { action: { key, host, status, ...(change === undefined ? {} : { change }) } };
}

const roleLabel = 'machine.openshift.io/cluster-api-machine-role';

/** Machines of workers that no host is for, in the order of their names. */
function freeMachines(hosts: readonly KubeObject[], machines: readonly KubeObject[]): KubeObject[] {
  const taken = new Set(hosts.map((host) => textAt(host, 'spec', 'consumerRef', 'name')));
  return machines.filter(
    ({ metadata: { name, labels } }) => labels?.[roleLabel] === 'worker' && !taken.has(name),
  );
}

const hasConsumer = (host: KubeObject): boolean =>
  textAt(host, 'spec', 'consumerRef', 'name') !== '';

const isUnmanaged = (host: KubeObject): boolean =>
  ['', 'unmanaged'].includes(textAt(host, 'status', 'provisioning', 'state'));

/** The status that the host brings along in an annotation, as a patch; undefined where it has none. */
function statusPatch(host: KubeObject, now: number): KubePatch | 'unreadable' | undefined {
  const text = annotationOf(host, statusAnnotation);
  if (text === '') return undefined;
  const status = Status.safeParse(jsonIn(text)).data;
  if (status === undefined) return 'unreadable';
  const lastUpdated = isZero(status['lastUpdated']) ? wholeSeconds(now) : status['lastUpdated'];
  const value = { ...status, lastUpdated };
  return { type: 'json', subresource: 'status', body: [{ op: 'add', path: '/status', value }] };
}

const Status = z.record(z.string(), z.unknown());

/** Go writes a time that was never set as null, or like this. */
const isZero = (time: unknown): boolean =>
  typeof time !== 'string' || time === '' || time.startsWith('0001-01-01T00:00:00');

/** What is to be changed of the rest; undefined where it is as it must be. */
function specChange(
  host: KubeObject,
  machine: KubeObject | undefined,
  hasProvisioning: boolean,
): SpecChange | undefined {
  const mark = hasProvisioning ? pausedAnnotation : statusAnnotation;
  const isMarked = Object.hasOwn(host.metadata.annotations ?? {}, mark);
  const isInternal = hasProvisioning && partOf(host, 'spec', 'externallyProvisioned') !== true;
  if (!isMarked && !isInternal && machine === undefined) return undefined;
  const consumerRef = machine && {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'Machine',
    namespace,
    name: machine.metadata.name,
  };
  return {
    annotations: isMarked ? { [mark]: null } : {},
    spec: {
      ...(isInternal ? { externallyProvisioned: true } : {}),
      ...(consumerRef === undefined ? {} : { consumerRef }),
    },
  };
}
