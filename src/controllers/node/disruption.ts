import { machineConfigurations } from '../../cluster/kinds.ts';
import { countAt, partOf } from '../../layering/api/cluster-object.ts';
import { type Fields, fieldsOf, type Value } from '../../layering/api/schema.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { HostChange } from './host-files.ts';
import type { WantedFile, WantedHost } from './wanted-host.ts';
import type { NodeAgentScope } from './node-object.ts';

/** One thing that a change asks for once it is written (OpenShift, `NodeDisruptionPolicyStatusAction`). */
interface Action {
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'Special' | 'None';
  /** For `Reload` and `Restart`. */
  readonly service?: string;
}

/** What which change asks for. */
interface Policies {
  /** By path of a file, or of a folder above it: the longest counts. */
  readonly files: ReadonlyMap<string, readonly Action[]>;
  readonly units: ReadonlyMap<string, readonly Action[]>;
  /** Keys and password of a user. */
  readonly sshKey: readonly Action[];
}

/** What a change asks of a node. */
export interface Disruption {
  readonly reboots: boolean;
  readonly drains: boolean;
  /** Commands of the host, in their order, once files are written. */
  readonly argvs: readonly (readonly string[])[];
}

/** What whatever no policy names asks for. */
export const rebootNeeded: Disruption = { reboots: true, drains: true, argvs: [] };

const none: readonly Action[] = [{ type: 'None' }];
const restart = (service: string): Action => ({ type: 'Restart', service });
const reloadCrio: readonly Action[] = [{ type: 'Reload', service: 'crio.service' }];
const refreshTrust = restart('coreos-update-ca-trust.service');
const anchors = '/etc/pki/ca-trust/source/anchors';
const registryUnit = 'iri-registry.service';

/** What the Machine Config Operator has by itself (2026-08: `defaultClusterPolicies`, and for the authority of the kubelet `daemon/update.go`). */
const defaults: Policies = {
  files: new Map<string, readonly Action[]>([
    ['/var/lib/kubelet/config.json', none],
    ['/etc/kubernetes/kubelet-ca.crt', none],
    ['/etc/nmstate/openshift', none],
    ['/etc/machine-config-daemon/no-reboot/containers-gpg.pub', reloadCrio],
    ['/etc/containers/policy.json', reloadCrio],
    ['/etc/containers/registries.conf', [{ type: 'Special' }]],
    ['/etc/containers/registries.d', reloadCrio],
    ['/etc/crio/policies', reloadCrio],
    [`${anchors}/openshift-config-user-ca-bundle.crt`, [refreshTrust, restart('crio.service')]],
    [`${anchors}/iri-root-ca.crt`, [refreshTrust]],
    ['/etc/kubernetes/credential-providers', [restart('kubelet.service')]],
    [
      '/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf',
      [{ type: 'DaemonReload' }, restart('kubelet.service')],
    ],
    ['/etc/iri-registry', [restart(registryUnit)]],
    ['/usr/local/bin/load-registry-image.sh', [restart(registryUnit)]],
  ]),
  units: new Map([[registryUnit, [{ type: 'DaemonReload' }, restart(registryUnit)]]]),
  sshKey: none,
};

/**
 * The policies of a cluster: what the operator has merged where that is of this generation, else the defaults; and over them
 * `spec.nodeDisruptionPolicy`, which nobody merges while the operator is away.
 */
export function policiesIn(settings: KubeObject | undefined): Policies {
  if (settings === undefined) return defaults;
  const merged = partOf(settings, 'status', 'nodeDisruptionPolicyStatus', 'clusterPolicies');
  const isCurrent =
    countAt(settings, 'status', 'observedGeneration') ===
    countAt(settings, 'metadata', 'generation');
  const base = isCurrent && merged !== undefined ? policiesOver(undefined, merged) : defaults;
  return policiesOver(base, partOf(settings, 'spec', 'nodeDisruptionPolicy'));
}

function policiesOver(base: Policies | undefined, part: unknown): Policies {
  const { files, units, sshkey } = fieldsOf(part as Value);
  const named = (list: Value | undefined, key: string) =>
    (Array.isArray(list) ? (list as readonly Value[]) : []).map((one) => {
      const fields = fieldsOf(one);
      return [fields[key] as string, actionsIn(fields)] as const;
    });
  const ofKeys = actionsIn(fieldsOf(sshkey));
  return {
    files: new Map([...(base?.files ?? []), ...named(files, 'path')]),
    units: new Map([...(base?.units ?? []), ...named(units, 'name')]),
    sshKey: ofKeys.length === 0 ? (base ?? defaults).sshKey : ofKeys,
  };
}

/** What is not understood asks for a reboot, which is always enough. */
const actionsIn = ({ actions }: Fields): readonly Action[] =>
  (Array.isArray(actions) ? (actions as readonly Value[]) : []).map((one): Action => {
    const { type, reload, restart: restarted } = fieldsOf(one);
    switch (type) {
      case 'Reload':
      case 'Restart': {
        const { serviceName } = fieldsOf(type === 'Reload' ? reload : restarted);
        return typeof serviceName === 'string'
          ? { type, service: serviceName }
          : { type: 'Reboot' };
      }
      case 'Drain':
      case 'DaemonReload':
      case 'Special':
      case 'None':
        return { type };
      default:
        return { type: 'Reboot' };
    }
  });

/** A change from one MachineConfig to another, with what of it the host lacks. */
interface HostStep {
  readonly before: WantedHost;
  readonly wanted: WantedHost;
  readonly lacks: HostChange;
}

/** What a change asks of a node: that of each file, unit and user that differs, or a reboot where one has no policy. */
export function disruptionOf(step: HostStep, policies: Policies): Disruption {
  const { before, wanted } = step;
  if (before.packages !== wanted.packages) return rebootNeeded;
  const { paths, units, isUser } = differences(step);
  const asked = [
    ...paths.map((path) => ofPath(path, policies)),
    ...units.map((unit) => policies.units.get(unit)),
    ...(isUser ? [policies.sshKey] : []),
  ];
  const actions = asked.flatMap((one) => one ?? [{ type: 'Reboot' } as const]);
  if (actions.some(({ type }) => type === 'Reboot')) return rebootNeeded;
  return {
    reboots: false,
    // The operator reads registries.conf (`Special`) and spares the drain where only mirrors by digest come.
    drains: actions.some(({ type }) => type === 'Drain' || type === 'Special'),
    argvs: actions.flatMap(argvOf),
  };
}

function argvOf({ type, service = 'crio.service' }: Action): readonly (readonly string[])[] {
  switch (type) {
    case 'Special':
    case 'Reload':
      return [['systemctl', 'reload', service]];
    case 'Restart':
      return [['systemctl', 'restart', service]];
    case 'DaemonReload':
      return [['systemctl', 'daemon-reload']];
    case 'Drain':
    case 'None':
    case 'Reboot':
      return [];
  }
}

function ofPath(path: string, { files }: Policies): readonly Action[] | undefined {
  const [longest] = [...files.keys()]
    .filter((one) => path === one || path.startsWith(`${one.replace(/\/$/, '')}/`))
    .sort((one, other) => other.length - one.length);
  return longest === undefined ? undefined : files.get(longest);
}

/** What two MachineConfigs have otherwise, and what the host lacks beside that. */
function differences({ before, wanted, lacks }: HostStep) {
  const lacking = new Set([...lacks.write.map(({ path }) => path), ...lacks.remove]);
  const lackingUnits = new Set(lacks.units.map(({ name }) => name));
  const files = changedOf([before.files, wanted.files], shownFile, ({ path }) => lacking.has(path));
  const units = changedOf(
    [before.units, wanted.units],
    (unit) => JSON.stringify(unit),
    ({ name }) => lackingUnits.has(name),
  );
  const ofUnits = files.flatMap(({ from }) => (typeof from === 'object' ? [from.unit] : []));
  return {
    paths: [...new Set(files.flatMap(({ path, from }) => (from === undefined ? [path] : [])))],
    units: [...new Set([...units.map(({ name }) => name), ...ofUnits])],
    isUser: before.password !== wanted.password || files.some(({ from }) => from === 'user'),
  };
}

const shownFile = ({ path, content, mode, owner = '' }: WantedFile): string =>
  [path, mode, owner, Buffer.from(content).toString('base64')].join(' ');

/** What only one list has, and what is lacking. */
function changedOf<T>(
  [before, wanted]: readonly [readonly T[], readonly T[]],
  shown: (one: T) => string,
  isLacking: (one: T) => boolean,
): readonly T[] {
  const lists = [before, wanted].map((list) => new Set(list.map(shown)));
  const isIn = (one: T): boolean => lists.every((list) => list.has(shown(one)));
  return [...before, ...wanted].filter((one) => isLacking(one) || !isIn(one));
}

/** What a change asks of this node, by the policies that the cluster has now. */
export async function readDisruption(
  { kube, signal }: NodeAgentScope,
  step: HostStep,
): Promise<Disruption> {
  const settings = await kube.get({ kind: machineConfigurations, name: 'cluster' }, signal);
  return disruptionOf(step, policiesIn(settings));
}
