import * as z from 'zod';
import { pods, services as serviceKind } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { followed } from '../cluster/kube-watch.ts';
import { NewCluster } from './new-cluster.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { controllerStep } from './world.ts';

/** The service that the DNS operator makes, at the tenth address of the first network of services. */
const dnsService = 'openshift-dns/dns-default';

const operatorNamespace = 'openshift-dns-operator';

/** As long as the one that is replaced tries: 45 times, 20 seconds apart. */
const giveUpAfter: Millis = minutes(15);

/**
 * Frees the address that the cluster's DNS needs from a service that got it by chance: until the DNS service has it, or
 * for 15 minutes.
 */
export const freeDnsAddress = controllerStep({
  id: 'controller/free-dns-address',
  title: 'Free the address of the cluster DNS service',
  uses: ['kube', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: ({ cluster: { serviceNetworks } }) =>
    dnsAddressOf(serviceNetworks[0] ?? '') === undefined
      ? 'the install-config names no network of services'
      : undefined,
  limit: noLimit,
  waitsFor: 'the DNS service to have its address, at most 15 minutes',
  run: async (scope, { cluster: { serviceNetworks } }) => {
    const { clock, kube, note } = scope;
    const address = dnsAddressOf(serviceNetworks[0] ?? '') ?? '';
    const services = followed(kube, { kind: serviceKind });
    const began = clock.elapsed();
    let mayNotRemove = false;
    await reconcile<ServicesSeen, Removal>(scope, `the DNS service has ${address}`, {
      watch: services.watch,
      every: seconds(20),
      observe: () => ({
        address,
        services: services.view().objects,
        gap: gapIn(services.view()),
        isLate: mayNotRemove || clock.elapsed() - began >= giveUpAfter,
      }),
      decide: dnsConflicts,
      apply: async ({ key, service: { metadata } }, signal) => {
        const { name, namespace = '', uid } = metadata;
        try {
          await kube.remove({ kind: serviceKind, namespace, name, uid }, signal);
        } catch (error) {
          if (!isForbidden(error)) throw error;
          mayNotRemove = true;
          note('warn', `${key}: may not be removed`, { address, reason: error.message });
          return;
        }
        note('warn', `${key}: removed, as it had the address of the DNS service`, { address });
        try {
          // The operator makes its service again at once when it starts, else after a long pause.
          await kube.removeAll({ kind: pods, namespace: operatorNamespace }, signal);
        } catch (error) {
          signal.throwIfAborted();
          const { code, message } = asAgentError(error);
          note('warn', 'cannot restart the DNS operator', { code, reason: message });
        }
      },
    });
  },
});

interface ServicesSeen {
  readonly address: string;
  readonly services: readonly KubeObject[];
  readonly gap: string | undefined;
  readonly isLate: boolean;
}

interface Removal extends Action {
  readonly service: KubeObject;
}

/** The service to be removed, if another one has the address. */
export function dnsConflicts({ address, services, gap, isLate }: ServicesSeen): Decision<Removal> {
  const holder = services.find((service) => addressOf(service) === address);
  if (isLate) return { actions: [], missing: undefined };
  if (gap !== undefined) return { actions: [], missing: gap };
  if (holder === undefined) return { actions: [], missing: `no service has ${address} yet` };
  const name = `${holder.metadata.namespace ?? ''}/${holder.metadata.name}`;
  if (name === dnsService) return { actions: [], missing: undefined };
  return {
    actions: [{ key: `service ${name}`, once: holder.metadata.uid, service: holder }],
    missing: `${name} has ${address}`,
  };
}

const Spec = z.object({ spec: z.object({ clusterIP: z.string().optional() }) });

const addressOf = (service: KubeObject): string | undefined =>
  canonicalAddress(Spec.safeParse(service).data?.spec.clusterIP ?? '');

/** The tenth address of a network, in canonical form; undefined for what is no network. */
export function dnsAddressOf(network: string): string | undefined {
  const [text = '', length = ''] = network.split('/');
  const address = canonicalAddress(text);
  if (address === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const isV6 = address.includes(':');
  const bits = isV6 ? 128 : 32;
  // Without four bits for hosts there is no tenth address.
  if (Number(length) > bits - 4) return undefined;
  const hostBits = BigInt(bits - Number(length));
  const base = ((isV6 ? numberOfV6(address) : numberOfV4(address)) >> hostBits) << hostBits;
  return canonicalAddress(isV6 ? v6Of(base + 10n) : v4Of(base + 10n));
}

const numberOfV4 = (address: string): bigint =>
  address.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);

const v4Of = (number: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');

const groupsOfV6 = 8;

function numberOfV6(address: string): bigint {
  const [before = '', after = ''] = address.split('::');
  const groups = (part: string): readonly string[] => part.split(':').filter((one) => one !== '');
  const [head, tail] = [groups(before), groups(after)];
  const zeros = Array.from({ length: groupsOfV6 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].reduce((sum, one) => sum * 65_536n + BigInt(`0x${one}`), 0n);
}

const v6Of = (number: bigint): string =>
  Array.from({ length: groupsOfV6 }, (_, index) =>
    ((number >> BigInt(16 * (groupsOfV6 - 1 - index))) & 0xff_ffn).toString(16),
  ).join(':');
