import { type Fields, isFields, type Value } from '../../lib/fields.ts';
import { bareMetalHosts, machines as machineKind, provisionings } from '../../kube/kinds.ts';
import { annotationOf, partOf, patchOf, textAt } from '../../kube/object.ts';
import { jsonIn } from '../../lib/json.ts';
import { seconds, wholeSeconds } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import { allOf, type InstallationScope } from './scope.ts';

const namespace = 'openshift-machine-api';

const statusAnnotation = 'baremetalhost.metal3.io/status';
const pausedAnnotation = 'baremetalhost.metal3.io/paused';

const provisioningRef: KubeRef = { kind: provisionings, name: 'provisioning-configuration' };

const roleLabel = 'machine.openshift.io/cluster-api-machine-role';

/** The only key: the machine of a host depends on the hosts before it. */
const allHosts = 'BareMetalHosts';

/**
 * Assigns a machine to each BareMetalHost, and sets the fields that the installer knows, so that
 * the bare metal operator adopts the host unchanged. Only on the platform `baremetal`.
 */
export function metalController(scope: InstallationScope): Controller {
  const { kube } = scope;
  const hosts = informer(scope, { kind: bareMetalHosts, namespace });
  const machines = informer(scope, { kind: machineKind, namespace });
  const done: HandledHosts = { refused: new Set(), written: new Set() };
  return {
    id: 'controller/register-bare-metal-hosts',
    title: 'Complete the BareMetalHosts of installed hosts',
    idle: 'the bare metal hosts are registered',
    reads: [hosts, machines],
    about: (key) => key,
    keys: () => [allHosts],
    watch: (add) => {
      for (const { onChange } of [hosts, machines]) onChange(() => add(allHosts));
    },
    settle: seconds(1),
    reconcile: async (_, signal) => {
      const all = hosts.all();
      if (!all.some((host) => isStaying(host) && mayChange(host))) return {};
      // A kind that is not served counts as absent; assisted-installer-controller would retry
      // without an end.
      const hasProvisioning = (await kube.get(provisioningRef, signal)) !== undefined;
      const taken = new Set(all.map(consumerOf));
      // Machines of workers alone, sorted by name.
      const free = machines
        .all()
        .filter(isStaying)
        .filter(({ metadata: { labels } }) => labels?.[roleLabel] === 'worker')
        .filter(({ metadata: { name } }) => !taken.has(name));
      const works = all.filter(isStaying).map((host) => {
        const machine = isWaiting(host, hasProvisioning) ? free.shift() : undefined;
        return register({ ...scope, done, signal }, host, { machine, hasProvisioning });
      });
      const missing = (await allOf(works)).filter((one) => one !== undefined);
      return missing.length === 0 ? {} : { status: missing.join('; '), after: seconds(30) };
    },
  };
}

const isStaying = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;

/** Ids of hosts that must not be changed, and of hosts whose status this process has written. */
interface HandledHosts {
  readonly refused: Set<string>;
  readonly written: Set<string>;
}

/** Applies the due change of a host; returns the condition that the host waits for. */
async function register(
  {
    kube,
    clock,
    note,
    done,
    signal,
  }: InstallationScope & { done: HandledHosts; signal: AbortSignal },
  host: KubeObject,
  {
    machine,
    hasProvisioning,
  }: { readonly machine: KubeObject | undefined; readonly hasProvisioning: boolean },
): Promise<string | undefined> {
  const { name, uid = '' } = host.metadata;
  const isDone = !mayChange(host) || done.refused.has(uid);
  if (isDone || (hasProvisioning && !isUnmanaged(host))) return undefined;
  const ref: KubeRef = { kind: bareMetalHosts, namespace, name };
  let seen = host;
  try {
    if (!hasProvisioning && !done.written.has(uid)) {
      const status = broughtStatus(host, clock.now());
      if (status === 'unreadable') return `the status of ${name} cannot be read`;
      // The status comes first: the annotation with its content is removed with the rest.
      if (status !== undefined) {
        seen = await kube.patch(ref, patchOf(host, { status }, 'status'), signal);
        done.written.add(uid);
      }
    }
    if (!hasConsumer(host) && machine === undefined) return `no machine for ${name} yet`;
    const change = specChange(host, machine, hasProvisioning);
    if (change === undefined) return undefined;
    await kube.patch(ref, patchOf(seen, change), signal);
    note('info', `BareMetalHost ${name} is registered`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    done.refused.add(uid);
    note('warn', `BareMetalHost ${name} may not be changed`, { reason: error.message });
  }
  return undefined;
}

/** Whether a host may need a change. */
const mayChange = (host: KubeObject): boolean =>
  !hasConsumer(host) ||
  partOf(host, 'spec', 'externallyProvisioned') !== true ||
  [statusAnnotation, pausedAnnotation].some((mark) =>
    Object.hasOwn(host.metadata.annotations ?? {}, mark),
  );

const consumerOf = (host: KubeObject): string => textAt(host, 'spec', 'consumerRef', 'name');

const hasConsumer = (host: KubeObject): boolean => consumerOf(host) !== '';

/** Whether a host should get a machine. */
const isWaiting = (host: KubeObject, hasProvisioning: boolean): boolean =>
  !hasConsumer(host) &&
  (hasProvisioning ? isUnmanaged(host) : broughtStatus(host, 0) !== 'unreadable');

const isUnmanaged = (host: KubeObject): boolean =>
  ['', 'unmanaged'].includes(textAt(host, 'status', 'provisioning', 'state'));

/** The status in an annotation of the host; undefined without the annotation. */
function broughtStatus(host: KubeObject, now: number): Fields | 'unreadable' | undefined {
  const text = annotationOf(host, statusAnnotation);
  if (text === '') return undefined;
  const status = jsonIn(text);
  if (!isFields(status)) return 'unreadable';
  return isZero(status['lastUpdated']) ? { ...status, lastUpdated: wholeSeconds(now) } : status;
}

/** Go writes an unset time as null, or as year 1. */
const isZero = (time: Value | undefined): boolean =>
  typeof time !== 'string' || time === '' || time.startsWith('0001-01-01T00:00:00');

/** The change of the other fields; undefined where none is needed. */
function specChange(
  host: KubeObject,
  machine: KubeObject | undefined,
  hasProvisioning: boolean,
): { readonly metadata: object; readonly spec: object } | undefined {
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
    metadata: { annotations: isMarked ? { [mark]: null } : {} },
    spec: {
      ...(isInternal ? { externallyProvisioned: true } : {}),
      ...(consumerRef === undefined ? {} : { consumerRef }),
    },
  };
}
