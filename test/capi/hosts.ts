import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { openInventory, type InventoryConnection } from '../../src/adapters/http/inventory.ts';
import { capiMachines, capiNames } from '../../src/capi/api.ts';
import { networkOf } from '../../src/cli/network.ts';
import { nodes, secrets } from '../../src/kube/kinds.ts';
import { loadConfig } from '../../src/config/load.ts';
import { textAt } from '../../src/kube/object.ts';
import type { Stage } from '../../src/model/stage.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { Download } from '../../src/ports/inventory.ts';
import type { CapiRig, Management } from './management.ts';

/**
 * A host that boots with its data Secret, and makes its agent's requests with the agent's own
 * client.
 */
export interface ScriptedHost extends AsyncDisposable {
  readonly machine: string;
  readonly role: string;
  readonly inventory: InventoryConnection;
  /** The text of its Ignition. */
  readonly ignition: (role: 'master' | 'worker') => Promise<string>;
  readonly report: (stage: Stage, info?: string) => Promise<void>;
  /** Reports of the bootstrap host about another host. */
  readonly reportFor: (other: ScriptedHost, stage: Stage) => Promise<void>;
  readonly ref: { readonly infraEnvId: string; readonly hostId: string };
}

/** The values from a live system's Ignition. */
interface Booted {
  readonly storage: {
    readonly files: readonly {
      readonly path: string;
      readonly contents: { readonly source: string };
    }[];
  };
  readonly systemd: { readonly units: readonly [{ readonly contents: string }] };
}

/** Maximum time of a call here. */
const limitMillis = 600_000;

interface BootingHost {
  readonly cluster: string;
  readonly machine: string;
}

/** Content of a live system's Ignition: files by path, and the unit of the agent. */
interface LiveIgnition {
  readonly files: Readonly<Record<string, string>>;
  /** Arguments of the agent, with its files in the folder of the test. */
  readonly agentWords: (folder: string) => string[];
}

/** The bootstrap data of a Machine, as soon as it exists. */
export async function liveIgnition(
  { client, found }: Pick<Management, 'client' | 'found'>,
  { cluster, machine }: BootingHost,
): Promise<LiveIgnition> {
  const name = await found({ kind: capiMachines, namespace: cluster }, (object) => {
    const secret = textAt(object, 'spec', 'bootstrap', 'dataSecretName');
    return object.metadata.name === machine && secret !== '' ? secret : undefined;
  });
  const secret = await client.get({ kind: secrets, namespace: cluster, name });
  const { storage, systemd } = JSON.parse(decoded(textAt(secret, 'data', 'value'))) as Booted;
  const files = storage.files.map(
    ({ path, contents: { source } }) =>
      [path, decoded(source.replace(/^data:;base64,/, ''))] as const,
  );
  return {
    files: Object.fromEntries(files),
    agentWords: (folder) => agentWords(systemd.units[0].contents, folder),
  };
}

/** Boots the host of a Machine as soon as it has bootstrap data. */
export async function bootHost(
  management: Pick<Management, 'client' | 'found' | 'kube'>,
  host: BootingHost,
): Promise<ScriptedHost> {
  const { machine, cluster } = host;
  const ignition = await liveIgnition(management, host);
  const folder = join(management.kube.folder, `host-${cluster}-${machine}`);
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(ignition.files))
    await writeFile(join(folder, basename(path)), text);
  const { config } = await loadConfig(ignition.agentWords(folder), {});
  const inventory = openInventory(config, { network: await networkOf(config) });
  const { infraEnvId, hostId } = config.cluster;
  const ref = { infraEnvId, hostId };
  const signal = (): AbortSignal => AbortSignal.timeout(limitMillis);
  return {
    machine,
    role: config.role,
    inventory,
    ref,
    ignition: async (of) => textIn(await inventory.hostIgnition(of, signal())),
    report: (stage, info = '') => inventory.report(ref, { stage, info }, signal()),
    reportFor: (other, stage) => inventory.report(other.ref, { stage, info: '' }, signal()),
    [Symbol.asyncDispose]: () => inventory.close(),
  };
}

/** Boots the host of the next wanted Machine after the booted ones. */
export async function bootNext(
  rig: CapiRig,
  cluster: string,
  { hosts, isMaster }: { readonly hosts: readonly ScriptedHost[]; readonly isMaster: boolean },
): Promise<ScriptedHost> {
  const machine = await rig.found({ kind: capiMachines, namespace: cluster }, (object) =>
    isOfControlPlane(object) === isMaster &&
    !hosts.some((host) => host.machine === object.metadata.name)
      ? object.metadata.name
      : undefined,
  );
  return bootHost(rig, { cluster, machine });
}

/** Whether a Machine belongs to a control plane. */
export const isOfControlPlane = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.[capiNames.controlPlane] !== undefined;

/** Registers the node of a host as its kubelet does, with the addresses of its infrastructure. */
export async function joinNode(
  { found, guest: { client } }: CapiRig,
  cluster: string,
  { machine, role }: ScriptedHost,
): Promise<void> {
  const providerID = await found({ kind: capiMachines, namespace: cluster }, (object) =>
    object.metadata.name === machine
      ? textAt(object, 'spec', 'providerID') || undefined
      : undefined,
  );
  const label = `node-role.kubernetes.io/${role === 'worker' ? 'worker' : 'master'}`;
  await client.apply(nodes, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: machine, labels: { [label]: '' } },
    spec: { providerID },
  });
  const at = '2026-11-27T00:00:00Z';
  const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
  const conditions = types.map((type) => ({
    type,
    status: type === 'Ready' ? 'True' : 'False',
    reason: 'x',
    message: 'x',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  }));
  await client.mergeStatus({ kind: nodes, name: machine }, { conditions });
}

const decoded = (text: string): string => Buffer.from(text, 'base64').toString();

/** Arguments of the agent in its unit, with the host's files in the folder of the test. */
function agentWords(unit: string, folder: string): string[] {
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain,
  );
  return words
    .slice(words.indexOf('-r'))
    .map((word) => word.replaceAll('%%', '%').replaceAll('$$', '$'))
    .map((word) => (word.startsWith('/etc/bootwright/') ? join(folder, basename(word)) : word));
}

/** Text of a download. */
export async function textIn({ body }: Download): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
