import * as z from 'zod';
import { bareMetalHosts, machines as machineKind, provisionings } from '../../kube/kinds.ts';
import { annotationOf, partOf, textAt } from '../../kube/object.ts';
import { jsonIn } from '../../lib/json.ts';
import { seconds, wholeSeconds } from '../../model/duration.ts';
import type { KubeObject, KubePatch, KubeRef } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf } from '../../kube/write.ts';
import type { InstallationScope } from './scope.ts';

const namespace = 'openshift-machine-api';

const statusAnnotation = 'baremetalhost.metal3.io/status';
const pausedAnnotation = 'baremetalhost.metal3.io/paused';

const provisioningRef: KubeRef = { kind: provisionings, name: 'provisioning-configuration' };

/**
 * Gives each BareMetalHost its machine, and what the installer knows of it, so that the bare metal
 * operator takes the host unchanged. Only on the platform `baremetal`.
 */
export function metalController({ kube, clock, note }: InstallationScope): Controller {
  const hosts = informer(
    { kube, clock },
    { kind: bareMetalHosts, namespace },
    { waiting: (host) => (hasConsumer(host) ? [] : waitingIn(host)) },
  );
  const machines = informer({ kube, clock }, { kind: machineKind, namespace });
  const refused = new Set<string>();
  const written = new Set<string>();
  const seenOf = async (host: KubeObject, signal: AbortSignal): Promise<MetalSeen> => {
    // A kind that is not served counts as not there: the controller that is replaced asks for it
    // without an end.
    const hasProvisioning = (await kube.get(provisioningRef, signal)) !== undefined;
    const isWritten = written.has(host.metadata.uid ?? '');
    const waiting = hosts.by('waiting', hasProvisioning ? 'unmanaged' : 'readable');
    const taken = new Set(hosts.all().map(consumerOf));
    const free = machines
      .all()
      .filter(
        ({ metadata: { name, labels } }) => labels?.[roleLabel] === 'worker' && !taken.has(name),
      );
    const machine = free[waiting.findIndex(({ metadata }) => metadata.name === host.metadata.name)];
    return {
      host,
      hasProvisioning,
      isWritten,
      now: clock.now(),
      machine: hasConsumer(host) ? undefined : machine,
    };
  };
  return {
    id: 'controller/register-bare-metal-hosts',
    title: 'Register the installed hosts as the bare metal operator knows them',
    idle: 'the bare metal hosts are registered',
    reads: [hosts, machines],
    about: (name) => `BareMetalHost ${name}`,
    keys: () => hosts.all().map(({ metadata: { name } }) => name),
    watch: (add) => {
      const addAll = (): void => {
        for (const { metadata } of hosts.all()) add(metadata.name);
      };
      // Whose machine one gets depends on those before it.
      hosts.onChange(addAll);
      machines.onChange(addAll);
    },
    settle: seconds(1),
    reconcile: async (name, signal) => {
      const host = hosts.get(name, namespace);
      if (host === undefined || !mayChange(host) || refused.has(host.metadata.uid ?? '')) return {};
      const seen = await seenOf(host, signal);
      const { status, change, missing } = hostPlan(seen);
      await register({ kube, note, refused, written }, host, { status, change }, signal);
      return missing === undefined ? {} : { status: missing, after: seconds(30) };
    },
  };
}

const refOf = (name: string): KubeRef => ({ kind: bareMetalHosts, namespace, name });

interface Registering extends Pick<InstallationScope, 'kube' | 'note'> {
  /** Ids of hosts that may not be changed. */
  readonly refused: Set<string>;
  /** Ids of hosts whose status this process has written. */
  readonly written: Set<string>;
}

async function register(
  { kube, note, refused, written }: Registering,
  host: KubeObject,
  { status, change }: Omit<HostPlan, 'missing'>,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid = '' } = host.metadata;
  try {
    let seen = host;
    if (status !== undefined) {
      seen = await kube.patch(refOf(name), status, signal);
      written.add(uid);
    }
    if (change === undefined) return;
    const { annotations, spec } = change;
    await kube.patch(refOf(name), patchOf(seen, { metadata: { annotations }, spec }), signal);
    note('info', `BareMetalHost ${name} is registered`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    refused.add(uid);
    note('warn', `BareMetalHost ${name} may not be changed`, { reason: error.message });
  }
}

/** What decides about a host. */
interface MetalSeen {
  readonly host: KubeObject;
  /** The one that it gets: of those of workers that no host is for, by the order of their names. */
  readonly machine: KubeObject | undefined;
  /** The cluster provisions hosts itself. */
  readonly hasProvisioning: boolean;
  /** This process has written its status. */
  readonly isWritten: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A part of a merge patch. */
interface SpecChange {
  readonly annotations: Readonly<Record<string, null>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

interface HostPlan {
  /** Comes first: the annotation that it is made from goes with the rest. */
  readonly status?: KubePatch | undefined;
  readonly change?: SpecChange | undefined;
  /** What the host waits for. */
  readonly missing?: string;
}

/**
 * What is to be changed of a host. One that has no machine yet is left unchanged until there is
 * one, except for its status.
 */
export function hostPlan(seen: MetalSeen): HostPlan {
  const { host, machine, hasProvisioning, isWritten, now } = seen;
  if (hasProvisioning && !isUnmanaged(host)) return {};
  const { name } = host.metadata;
  const status = hasProvisioning || isWritten ? undefined : statusPatch(host, now);
  if (status === 'unreadable') return { missing: `the status of ${name} cannot be read` };
  const isWithout = !hasConsumer(host) && machine === undefined;
  const change = isWithout ? undefined : specChange(host, machine, hasProvisioning);
  return isWithout ? { status, missing: `no machine for ${name} yet` } : { status, change };
}

/** Whether anything may have to be changed of a host. */
const mayChange = (host: KubeObject): boolean =>
  !hasConsumer(host) ||
  partOf(host, 'spec', 'externallyProvisioned') !== true ||
  [statusAnnotation, pausedAnnotation].some((mark) =>
    Object.hasOwn(host.metadata.annotations ?? {}, mark),
  );

const roleLabel = 'machine.openshift.io/cluster-api-machine-role';

const consumerOf = (host: KubeObject): string => textAt(host, 'spec', 'consumerRef', 'name');

const hasConsumer = (host: KubeObject): boolean => consumerOf(host) !== '';

/** Where a host waits for a machine: of clusters that provision hosts themselves, and of others. */
const waitingIn = (host: KubeObject): readonly string[] => [
  ...(isUnmanaged(host) ? ['unmanaged'] : []),
  ...(statusPatch(host, 0) === 'unreadable' ? [] : ['readable']),
];

const isUnmanaged = (host: KubeObject): boolean =>
  ['', 'unmanaged'].includes(textAt(host, 'status', 'provisioning', 'state'));

/**
 * The status that the host brings along in an annotation, as a patch; undefined where it has none.
 */
function statusPatch(host: KubeObject, now: number): KubePatch | 'unreadable' | undefined {
  const text = annotationOf(host, statusAnnotation);
  if (text === '') return undefined;
  const status = Status.safeParse(jsonIn(text)).data;
  if (status === undefined) return 'unreadable';
  const lastUpdated = isZero(status['lastUpdated']) ? wholeSeconds(now) : status['lastUpdated'];
  return patchOf(host, { status: { ...status, lastUpdated } }, 'status');
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
