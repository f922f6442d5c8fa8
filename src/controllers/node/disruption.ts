import { countAt, partOf } from '../../layering/api/cluster-object.ts';
import { type Fields, fieldsOf, listOf, type Value } from '../../layering/api/schema.ts';
import { jsonIn } from '../../lib/json.ts';
import { isSameList } from '../../os/driver.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { HostChange } from './host-files.ts';
import type { WantedFile, WantedHost } from './wanted-host.ts';

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
  /** What asks for the reboot, else for the drain: paths, units, members of a MachineConfig. */
  readonly reasons: readonly string[];
}

/** What whatever no policy names asks for. */
export const rebootNeeded: Disruption = { reboots: true, drains: true, argvs: [], reasons: [] };

const none: readonly Action[] = [{ type: 'None' }];
const restart = (service: string): Action => ({ type: 'Restart', service });
const reloadCrio: readonly Action[] = [{ type: 'Reload', service: 'crio.service' }];
const refreshTrust = restart('coreos-update-ca-trust.service');
const registriesConf = '/etc/containers/registries.conf';
const anchors = '/etc/pki/ca-trust/source/anchors';
const registryUnit = 'iri-registry.service';

/** What the Machine Config Operator has by itself (2026-08: `defaultClusterPolicies`, and for the authority of the kubelet `daemon/update.go`). */
const defaults: Policies = {
  files: new Map<string, readonly Action[]>([
    ['/var/lib/kubelet/config.json', none],
    ['/etc/mco/internal-registry-pull-secret.json', none],
    ['/etc/kubernetes/kubelet-ca.crt', none],
    ['/etc/nmstate/openshift', none],
    ['/etc/machine-config-daemon/no-reboot/containers-gpg.pub', reloadCrio],
    ['/etc/containers/policy.json', reloadCrio],
    [registriesConf, [{ type: 'Special' }]],
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
  const { files, units, sshkey } = fieldsOf(part);
  const named = (list: Value | undefined, key: string) =>
    listOf(list).map((one) => {
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
  listOf(actions).map((one): Action => {
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
    ...paths.map((path) => [path, ofPath(path, policies)] as const),
    ...units.map((unit) => [unit, policies.units.get(unit)] as const),
    ...(isUser ? [['keys and password of core', policies.sshKey] as const] : []),
  ].map(([name, actions = [{ type: 'Reboot' }] as readonly Action[]]) => ({ name, actions }));
  const namesWith = (isMeant: (action: Action) => boolean): readonly string[] =>
    asked.filter(({ actions }) => actions.some(isMeant)).map(({ name }) => name);
  const rebooting = namesWith(({ type }) => type === 'Reboot');
  if (rebooting.length > 0) return { ...rebootNeeded, reasons: rebooting };
  const draining = namesWith(
    ({ type }) =>
      type === 'Drain' ||
      (type === 'Special' &&
        registriesNeedDrain(textOf(before, registriesConf), textOf(wanted, registriesConf))),
  );
  const argvs = asked.flatMap(({ actions }) => actions.flatMap(argvOf));
  return { reboots: false, drains: draining.length > 0, argvs, reasons: draining };
}

/**
 * What an update from one MachineConfig to another asks of a node that has all of the first; undefined where it changes what only an
 * installation does, so that no node takes it.
 */
export function plannedDisruption(
  before: WantedHost,
  wanted: WantedHost,
  policies: Policies,
): Disruption | undefined {
  if (before.fixed !== wanted.fixed) return undefined;
  const ofSystem = [
    ...(before.osImageURL === wanted.osImageURL ? [] : ['osImageURL']),
    ...(isSameList(before.kernelArguments, wanted.kernelArguments) ? [] : ['kernelArguments']),
    ...(before.packages === wanted.packages ? [] : ['extensions or kernelType']),
  ];
  return ofSystem.length > 0
    ? { ...rebootNeeded, reasons: ofSystem }
    : disruptionOf({ before, wanted, lacks: { write: [], remove: [], units: [] } }, policies);
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

const textOf = ({ files }: WantedHost, wanted: string): string => {
  const { content } = files.find(({ path }) => path === wanted) ?? { content: '' };
  return Buffer.from(content).toString('utf8');
};

type Table = Map<string, unknown>;

/** What of registries.conf decides (containers-registries.conf(5)). */
interface Registries {
  readonly searched: readonly unknown[];
  /** By what it is found by: the prefix, else the location. */
  readonly registries: ReadonlyMap<unknown, { readonly own: Table; readonly mirrors: Table[] }>;
}

/** registries.conf in the part of TOML that the operator writes; undefined where it has more. */
function readRegistries(text: string): Registries | undefined {
  const top: Table = new Map();
  const found: { readonly own: Table; readonly mirrors: Table[] }[] = [];
  let table = top;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const last = found.at(-1);
    if (line === '[[registry]]') found.push({ own: (table = new Map()), mirrors: [] });
    else if (line === '[[registry.mirror]]' && last !== undefined) {
      last.mirrors.push((table = new Map()));
    } else if (!isTaken(line, table)) return undefined;
  }
  const searched = top.get('unqualified-search-registries') ?? [];
  const registries = new Map(
    found.map((one) => [one.own.get('prefix') ?? one.own.get('location'), one] as const),
  );
  return Array.isArray(searched) && registries.size === found.length
    ? { searched: searched as readonly unknown[], registries }
    : undefined;
}

/** Takes a line into a table; one that sets a default sets nothing. */
function isTaken(line: string, table: Table): boolean {
  if (line === '' || line.startsWith('#')) return true;
  const at = Math.max(line.indexOf('='), 0);
  const key = line.slice(0, at).trim();
  // Strings, booleans and lists on one line are the same in TOML and JSON.
  const value = jsonIn(line.slice(at + 1));
  if (!/^[\w-]+$/.test(key) || value === undefined || table.has(key)) return false;
  if (value !== '' && value !== false) table.set(key, value);
  return true;
}

/** What must stay the same for a registry that nodes know. */
const kept = ['prefix', 'location', 'blocked', 'insecure'] as const;

/**
 * Whether pods must leave before cri-o reads another registries.conf: whether an image that runs by a tag could now be another one, or come
 * from nowhere. Mirrors by digest may come without it (Machine Config Operator, `isSafeContainerRegistryConfChanges`). What is not
 * understood drains, and so does a file that only drifted: nobody knows what the node had.
 */
export function registriesNeedDrain(before: string, wanted: string): boolean {
  const [old, next] = [readRegistries(before), readRegistries(wanted)];
  if (old === undefined || next === undefined || before === wanted) return true;
  if (old.searched.some((one, index) => next.searched[index] !== one)) return true;
  if ([...old.registries.keys()].some((scope) => !next.registries.has(scope))) return true;
  const byDigest = 'digest-only';
  return [...next.registries].some(([scope, { own, mirrors }]) => {
    const pulls = (mirror: Table, from: Table): unknown =>
      mirror.get('pull-from-mirror') ??
      (from.get('mirror-by-digest-only') === true ? byDigest : '');
    const known = old.registries.get(scope);
    if (known === undefined) {
      return mirrors.length === 0
        ? own.get('mirror-by-digest-only') !== true
        : mirrors.some((mirror) => pulls(mirror, own) !== byDigest);
    }
    if (kept.some((key) => own.get(key) !== known.own.get(key))) return true;
    const locations = new Set(mirrors.map((mirror) => mirror.get('location')));
    if (known.mirrors.some((mirror) => !locations.has(mirror.get('location')))) return true;
    return mirrors.some((mirror) => {
      const former = known.mirrors.find((one) => one.get('location') === mirror.get('location'));
      const isSame = former !== undefined && pulls(former, known.own) === pulls(mirror, own);
      return !isSame && pulls(mirror, own) !== byDigest;
    });
  });
}
