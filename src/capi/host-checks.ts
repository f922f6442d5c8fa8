import { isSubdomain } from '../layering/api/schema.ts';
import { canonicalAddress } from '../lib/address.ts';
import type { KubeObject } from '../ports/kube.ts';
import { type BootstrapConfig, type Machine, type OpenShiftControlPlane, ownNames } from './api.ts';
import { type CheckResult, passedCheck, failedCheck } from './conditions.ts';

/**
 * Names and addresses of a Machine from its infrastructure (Cluster API, `MachineAddress`);
 * addresses in canonical form.
 */
export function reportedOf(machine: KubeObject) {
  const { status } = machine as Pick<Machine, 'status'>;
  const of = (pattern: RegExp): readonly string[] =>
    (status?.addresses ?? []).flatMap(({ type, address }) => (pattern.test(type) ? address : []));
  return {
    names: of(/^(Hostname|InternalDNS)$/),
    addresses: of(/^(Internal|External)IP$/).flatMap((one) => canonicalAddress(one) ?? []),
  };
}

/** The node name in a config; undefined if the config has none, or if the host resolves it. */
export function givenName({ spec }: Pick<BootstrapConfig, 'spec'>): string | undefined {
  const { name = '' } = spec.nodeRegistration ?? {};
  return name === '' || name.includes('$') ? undefined : name;
}

/**
 * Maximum length of the label `kubernetes.io/hostname` of a node (Kubernetes,
 * `LabelValueMaxLength`).
 */
const longestNodeName = 63;

/** The possible names of a node, in lower case, as kubelets write them. */
function namesOf(machine: KubeObject, config: BootstrapConfig | undefined): readonly string[] {
  const given = config && givenName(config)?.toLowerCase();
  if (given !== undefined) return [given];
  if ((config?.spec.nodeRegistration?.name ?? '') !== '') return [];
  // The system that inspects a host may have no name for it, while the installed system has one.
  const seen = reportedOf(machine).names.map((one) => one.toLowerCase().replace(/\.$/, ''));
  return [...new Set(seen)].filter((one) => !/^(?:localhost[46]?(?:\.|$)|\(none\)$|$)/.test(one));
}

/** The reason why a host's name rules it out as a node; undefined if no reason is known. */
export function nodeNameProblem(
  machine: KubeObject,
  config: BootstrapConfig | undefined,
): string | undefined {
  const names = namesOf(machine, config);
  const { name } = machine.metadata;
  // A host may have several names. Its node takes one of them, which may be a valid one.
  const [first] = names;
  const isShort = ({ length }: string): boolean => length <= longestNodeName;
  if (first === undefined || names.some((one) => isShort(one) && isSubdomain(one)))
    return undefined;
  return isShort(first)
    ? `the name of ${name} is no name of a node, which has letters, digits, - and .: ${first}`
    : `the name of ${name} has more than ${longestNodeName} characters: ${first}`;
}

/**
 * Condition `HostsValid` of a control plane: whether its hosts can be masters of one cluster by
 * their names, as known before their disks are written. While it is False, no master gets its
 * Ignition.
 */
export function hostsCheck({
  controlPlane,
  hosts: all,
}: {
  readonly controlPlane: Pick<OpenShiftControlPlane, 'metadata'>;
  readonly hosts: readonly {
    readonly machine: Machine;
    readonly config: BootstrapConfig | undefined;
    readonly isDeleting: boolean;
  }[];
}): CheckResult {
  const unknown = (reason: string, message = ''): CheckResult => ({
    status: 'Unknown',
    reason,
    message,
  });
  const remedy = `give each master a name of its own; the annotation ${ownNames.skipHostChecks} of the control plane skips this check where the reports are out of date`;
  if (controlPlane.metadata.annotations?.[ownNames.skipHostChecks] !== undefined)
    return unknown('Skipped', `by the annotation ${ownNames.skipHostChecks}`);
  const hosts = all.filter(({ isDeleting }) => !isDeleting);
  if (hosts.length === 0) return unknown('WaitingForMachines');
  const byName = new Map<string, string[]>();
  const silent: string[] = [];
  for (const { machine, config } of hosts) {
    const { name } = machine.metadata;
    const problem = nodeNameProblem(machine, config);
    if (problem !== undefined) return failedCheck('HostNameInvalid', `${problem}; ${remedy}`);
    const names = namesOf(machine, config);
    if (names.length === 0) silent.push(name);
    for (const one of names) byName.set(one, [...(byName.get(one) ?? []), name]);
  }
  const shared = [...byName].find(([, machines]) => machines.length > 1);
  if (shared !== undefined)
    return failedCheck(
      'HostNameNotUnique',
      `${shared[0]} is the name of ${shared[1].join(', ')}; ${remedy}`,
    );
  return silent.length > 0
    ? unknown('NotReported', `no name is reported of ${silent.join(', ')}`)
    : passedCheck('Valid');
}
