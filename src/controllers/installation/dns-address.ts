import * as z from 'zod';
import { pods, services as serviceKind } from '../../cluster/kinds.ts';
import { noteFailed } from '../../engine/failures.ts';
import { bitsOf, canonicalAddress } from '../../lib/address.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { performActions } from '../../reconcile/actions.ts';
import { informer } from '../../reconcile/informer.ts';
import type { Controller } from '../../reconcile/manager.ts';
import { type InstallationScope, listAgain } from './stores.ts';

/** The service that the DNS operator makes, at the tenth address of the first network of services. */
const dnsService = 'openshift-dns/dns-default';

const operatorNamespace = 'openshift-dns-operator';

/** As long as the one that is replaced tries: 45 times, 20 seconds apart. */
const giveUpAfter: Millis = minutes(15);

interface Removal {
  readonly type: 'remove';
  /** The uid of the service. */
  readonly target: string;
  readonly service: KubeObject;
}

/** The service to be removed, if another one than that of the cluster's DNS has the address. */
export const dnsConflicts = (holders: readonly KubeObject[]): readonly Removal[] =>
  holders
    .filter((service) => nameOf(service) !== dnsService)
    .map((service) => ({ type: 'remove', target: service.metadata.uid ?? '', service }));

const nameOf = ({ metadata: { namespace = '', name } }: KubeObject): string =>
  `${namespace}/${name}`;

/**
 * Frees the address that the cluster's DNS needs from a service that got it by chance: until the DNS service has it, or
 * for 15 minutes.
 */
export function dnsController(
  { kube, clock, note }: InstallationScope,
  address: string,
): Controller {
  const services = informer(
    { kube, clock },
    { kind: serviceKind },
    { address: (service) => [addressOf(service) ?? ''] },
  );
  const lateAt = clock.elapsed() + giveUpAfter;
  const state: RemovalState = { removed: new Set(), mayNotRemove: false };
  return {
    id: 'controller/free-dns-address',
    title: 'Free the address of the cluster DNS service',
    idle: 'no other service has the address',
    reads: [services],
    about: (one) => `service at ${one}`,
    keys: () => [address],
    watch: (add) => {
      services.onChange(({ after }) => {
        if (after !== undefined && addressOf(after) === address) add(address);
      });
    },
    reconcile: async (_, signal) => {
      if (state.mayNotRemove || clock.elapsed() >= lateAt) return {};
      const holders = services
        .by('address', address)
        .filter(({ metadata: { uid } }) => !state.removed.has(uid));
      const readAgain = async (seen: readonly KubeObject[], inner: AbortSignal) => {
        const found = seen.map((one) => listAgain(kube, { ref: refOf(one), seen: one }, inner));
        return (await Promise.all(found)).filter((one) => one !== undefined);
      };
      await performActions(
        {
          ...{ seen: holders, decide: dnsConflicts, readAgain },
          table: {
            remove: (action, inner) => remove({ kube, note, address, state }, action, inner),
          },
        },
        signal,
      );
      const status = services.by('address', address).map(nameOf).join(', ');
      return { status: `${status === '' ? 'no service' : status} has ${address}` };
    },
  };
}

interface RemovalState {
  /** Ids of services that were removed: a view that is listed each half minute shows them for a while yet. */
  readonly removed: Set<string | undefined>;
  mayNotRemove: boolean;
}

interface Removing extends Pick<InstallationScope, 'kube' | 'note'> {
  readonly address: string;
  readonly state: RemovalState;
}

const refOf = ({ metadata: { name, namespace = '' } }: KubeObject): KubeRef => ({
  ...{ kind: serviceKind, namespace, name },
});

async function remove(
  { kube, note, address, state }: Removing,
  { service }: Removal,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = service.metadata;
  const what = `service ${nameOf(service)}`;
  try {
    await kube.remove({ kind: serviceKind, namespace, name, uid }, signal);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    state.mayNotRemove = true;
    note('warn', `${what}: may not be removed`, { address, reason: error.message });
    return;
  }
  state.removed.add(uid);
  note('warn', `${what}: removed, as it had the address of the DNS service`, { address });
  try {
    // The operator makes its service again at once when it starts, else after a long pause.
    await kube.removeAll({ kind: pods, namespace: operatorNamespace }, signal);
  } catch (error) {
    noteFailed({ signal, note }, 'cannot restart the DNS operator', error);
  }
}

const Spec = z.object({ spec: z.object({ clusterIP: z.string().optional() }) });

const addressOf = (service: KubeObject): string | undefined =>
  canonicalAddress(Spec.safeParse(service).data?.spec.clusterIP ?? '');

/** The tenth address of a network, in canonical form; undefined for what is no network. */
export function dnsAddressOf(network: string): string | undefined {
  const [text = '', length = ''] = network.split('/');
  const bits = bitsOf(text);
  if (bits === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const beforeLast = bits.length - ten.length;
  // Without four bits for hosts there is no tenth address.
  if (Number(length) > beforeLast) return undefined;
  const address = bits.slice(0, Number(length)).padEnd(beforeLast, '0') + ten;
  const parts = (part: RegExp, base: number): readonly string[] =>
    (address.match(part) ?? []).map((digits) => Number.parseInt(digits, 2).toString(base));
  const isV4 = bits.length === 32;
  return canonicalAddress(isV4 ? parts(/.{8}/g, 10).join('.') : parts(/.{16}/g, 16).join(':'));
}

/** The number in an address's last bits. */
const ten = '1010';
