import { canonicalAddress, isWithin } from '../lib/address.ts';
import type { KubeObject } from '../ports/kube.ts';
import { type BootstrapConfig, type Machine, ownNames } from './api.ts';
import type { NewCondition } from './conditions.ts';
import type { ControlPlaneView } from './control-plane/view.ts';

/** Names and addresses that the infrastructure reports of a Machine (Cluster API, `MachineAddress`), addresses in their one spelling. */
export function reportedOf(machine: KubeObject) {
  const { status } = machine as Pick<Machine, 'status'>;
  const of = (pattern: RegExp): readonly string[] =>
    (status?.addresses ?? []).flatMap(({ type, address }) => (pattern.test(type) ? address : []));
  return {
    names: of(/^(Hostname|InternalDNS)$/),
    addresses: of(/^(Internal|External)IP$/).flatMap((one) => canonicalAddress(one) ?? []),
  };
}

/** The name that a config gives its node; undefined where it gives none, or one that is resolved on the host. */
export function givenName({ spec }: Pick<BootstrapConfig, 'spec'>): string | undefined {
  const { name = '' } = spec.nodeRegistration ?? {};
  return name === '' || name.includes('$') ? undefined : name;
}

/** A master as it is compared with the others. */
interface ComparedHost {
  readonly machine: string;
  /** In lower case, as kubelets write them. */
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

/** Addresses that tell no hosts apart: loopback and link-local (RFC 6890), as that of a link to a BMC is. */
const ofNoHost = ['127.0.0.0/8', '169.254.0.0/16', '::1/128', 'fe80::/10'];

const isLocal = (name: string): boolean => /^localhost[46]?(?:\.|$)/.test(name);

function comparedHost(machine: Machine, config: BootstrapConfig | undefined): ComparedHost {
  const { nodeRegistration, networkSecretRef } = config?.spec ?? {};
  const reported = reportedOf(machine);
  const given = config && givenName(config)?.toLowerCase();
  // The system that inspects a host may have no name for it, and the one that is installed has one.
  const seen = reported.names.map((one) => one.toLowerCase()).filter((one) => !isLocal(one));
  return {
    machine: machine.metadata.name,
    names: nodeRegistration?.name === undefined ? [...new Set(seen)] : given ? [given] : [],
    // Keyfiles give a host other addresses than those with which its infrastructure found it.
    addresses:
      networkSecretRef === undefined
        ? [...new Set(reported.addresses)].filter((one) => !isWithin(one, ofNoHost))
        : [],
  };
}

/**
 * Condition `HostsValid` of a control plane: whether its hosts can be masters of one cluster, by what is known of them before their
 * disks are written. It is False only where what is known contradicts itself, and then no master gets its Ignition.
 */
export function hostsCondition({
  controlPlane,
  machines,
  configs,
  assets,
}: Pick<ControlPlaneView, 'controlPlane' | 'machines' | 'configs' | 'assets'>): NewCondition {
  const type = 'HostsValid';
  const unknown = (reason: string, message = ''): NewCondition => ({
    ...{ type, status: 'Unknown', reason, message },
  });
  if (controlPlane.metadata.annotations?.[ownNames.skipHostChecks] !== undefined)
    return unknown('Skipped', `by the annotation ${ownNames.skipHostChecks}`);
  const hosts = machines
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((one) =>
      comparedHost(one, configs.get(one.spec.bootstrap.configRef?.name ?? one.metadata.name)),
    );
  const networks = assets?.metadata.annotations?.[ownNames.machineNetworks]?.split(',') ?? [];
  const found = contradiction(hosts, networks.filter(isReadable));
  if (found !== undefined)
    return { type, status: 'False', reason: found.reason, message: `${found.message}; ${skipped}` };
  if (hosts.length === 0) return unknown('WaitingForMachines');
  const silent = hosts.filter(({ names, addresses }) => names.length + addresses.length === 0);
  const why = `no name and no address is reported of ${listed(silent)}`;
  return silent.length > 0
    ? unknown('NotReported', why)
    : { type, status: 'True', reason: 'Valid' };
}

const skipped = `where what is reported is out of date, or of a provisioning network, the annotation ${ownNames.skipHostChecks} of the control plane skips this check`;

/** Whether it is a network with an address in it. */
const isReadable = (network: string): boolean => isWithin(network.replace(/\/.*/, ''), [network]);

const listed = (hosts: readonly ComparedHost[]): string =>
  hosts.map(({ machine }) => machine).join(', ');

/** What is wrong with hosts, and what to do about it. */
type Contradiction = Required<Pick<NewCondition, 'reason' | 'message'>>;

function contradiction(
  hosts: readonly ComparedHost[],
  networks: readonly string[],
): Contradiction | undefined {
  const within = hosts.map((host) => ({
    ...host,
    // One that is elsewhere may be that of a private link, the same in each host.
    addresses: host.addresses.filter((one) => networks.length === 0 || isWithin(one, networks)),
  }));
  const nameless = hosts.filter(({ names }) => names.some(isLocal));
  const name = firstShared(hosts, 'names', 'name');
  const address = firstShared(within, 'addresses', 'address');
  const outside = hosts.filter(({ addresses }) => isOutside(addresses, networks));
  const own = (reason: string, what: string, kind: string): Contradiction => ({
    ...{ reason, message: `${what}; give each master ${kind} of its own` },
  });
  if (nameless.length > 0)
    return own('HostNameInvalid', `localhost is the name of ${listed(nameless)}`, 'a name');
  if (name !== undefined) return own('HostNameNotUnique', name, 'a name');
  if (address !== undefined) return own('AddressNotUnique', address, 'an address');
  if (outside.length === 0) return undefined;
  const message = `${listed(outside)}: no address is in the machine networks ${networks.join(', ')}; give each master one there, or correct networking.machineNetwork of the install-config, then delete the Cluster and start again`;
  return { reason: 'OutsideMachineNetwork', message };
}

/** What more than one host has, with their Machines, in words. */
function firstShared(
  hosts: readonly ComparedHost[],
  key: 'names' | 'addresses',
  word: string,
): string | undefined {
  const values = hosts.flatMap((host) => host[key]);
  const value = values.find((one, at) => values.indexOf(one) !== at);
  if (value === undefined) return undefined;
  return `${value} is the ${word} of ${listed(hosts.filter((host) => host[key].includes(value)))}`;
}

const isV6 = (text: string): boolean => text.includes(':');

/** Addresses of a family that has no network say nothing. */
function isOutside(addresses: readonly string[], networks: readonly string[]): boolean {
  const comparable = addresses.filter((one) => networks.some((it) => isV6(it) === isV6(one)));
  return comparable.length > 0 && !comparable.some((one) => isWithin(one, networks));
}
