// Installs a cluster through Cluster API with simulated hosts, as a user with a management cluster
// does.
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeFacts } from '../../../mocks/cluster/objects.ts';
import { faultPlan } from '../../../mocks/http/fault.ts';
import type { MockServer } from '../../../mocks/http/mock-server.ts';
import { ignitionOnDisk } from '../../../mocks/host/installed-system.ts';
import { hostSeed } from '../../../mocks/inventory/records.ts';
import { controlProgram } from '../../../mocks/kube/program.ts';
import type { Kube } from '../../../mocks/kube/start.ts';
import { afterGivenTime } from '../../../mocks/lab/agent.ts';
import { type Lab, type LabHost, openHost, openSite } from '../../../mocks/lab/lab-host.ts';
import { differencesOf, reportHost } from '../../../mocks/lab/make-report.ts';
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { type LabReport, outcomeOf, reportOf } from '../../../mocks/lab/report.ts';
import { runHost } from '../../../mocks/lab/run-host.ts';
import { HostSpec, Scenario } from '../../../mocks/lab/scenario.ts';
import { leavePage, showRun, stopSignal } from '../../../mocks/lab/show.ts';
import type { ShownRun } from '../../../mocks/lab/shown-run.ts';
import {
  planOf,
  startCluster,
  type StartedCluster,
  startUnreachable,
  withoutPrefix,
} from '../../../mocks/lab/start-cluster.ts';
import { ensureParts } from '../../../scripts/parts/ensure.ts';
import { capi } from '../../../scripts/parts/kube/capi.ts';
import { clusterParts, kubeParts } from '../../../scripts/api-server.ts';
import { clusters, controlPlanes, type OpenShiftControlPlane } from '../../../src/capi/api.ts';
import { machineName } from '../../../src/capi/control-plane/machines.ts';
import { parseValidConfig } from '../../../src/ignition/parse.ts';
import { readFileContent } from '../../../src/ignition/resource.ts';
import { conditionOf, textAt } from '../../../src/kube/object.ts';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { devMachines } from '../cluster.ts';
import { liveIgnition } from '../hosts.ts';
import { type Manager, startManagers } from '../managers.ts';
import { startNode } from '../node.ts';
import { type Management, startManagement } from '../management.ts';
import { type ClusterView, clusterView } from './cluster-view.ts';
import { applyCluster } from './install-folder.ts';

/** The Cluster, its namespace, and its folder. */
const cluster = 'example';
const masters = 3;
const workers = 2;

const scenario = Scenario.parse({
  title: 'Three masters and two workers through Cluster API',
  description: `A management cluster with Cluster API's own core, both providers of Bootwright, and machines in memory.
The agent of each host is started by the bootstrap data of its Machine.`,
  hosts: [{ name: 'any', role: 'master' }],
  limitSeconds: 600,
  expect: { outcome: 'installed' },
});

interface CapiLab {
  readonly management: Management;
  readonly managers: readonly Manager[];
  /** The final API server of the new cluster. */
  readonly guest: Kube;
  readonly kubeconfig: string;
  /** The page of the Cluster. */
  readonly page: { readonly url: string; readonly printed: () => string };
  /** Directory with all files of the hosts and agents. */
  readonly folder: string;
  readonly bundle: string;
}

/**
 * Installs the cluster, shows its progress, and resolves with the exit code. The management cluster
 * stays as long as the page.
 */
export async function runByCapi(options: LabOptions, bundle: string): Promise<number> {
  const { stdout } = process;
  const { title, description } = scenario;
  const signal = stopSignal();
  await ensureParts([...clusterParts, capi]);
  stdout.write(`${title}. ${description}\n\n`);
  await using ends = new AsyncDisposableStack();
  let url: string | undefined;
  const heading = { title, about: description };
  const shown = { ...options, isPage: false, pageFile: undefined };
  const exitCode = await showRun(shown, heading, async ({ signal: stop, watch }) => {
    const lab = await openLab({ bundle, pageFile: options.pageFile }, ends);
    ({ url } = lab.page);
    stdout.write(`management cluster: KUBECONFIG=${lab.kubeconfig}\npage: ${url}\n\n`);
    return install(lab, { signal: stop, watch });
  });
  if (options.isPage) await leavePage({ url }, signal);
  return exitCode;
}

/** Starts all that must exist before the cluster. */
async function openLab(
  { bundle, pageFile }: { readonly bundle: string; readonly pageFile: string | undefined },
  ends: AsyncDisposableStack,
): Promise<CapiLab> {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const management = ends.use(await startManagement());
  await management.startInfrastructure();
  const guest = ends.use(await startUnreachable(await kubeParts()));
  await guest.startControllerManager({
    controllers: ['certificatesigningrequest-signing-controller'],
  });
  ends.use(await startNode(management, guest.kubeconfig));
  const managers = await startManagers(management);
  ends.defer(async () => {
    await Promise.all(managers.map(({ kill }) => kill()));
  });
  const { kube } = management;
  const kubeconfig = join(kube.folder, 'management.kubeconfig');
  await writeFile(kubeconfig, await kube.kubeconfigFor({ server: kube.url }), { mode: 0o600 });
  const logFile = join(folder, 'watch.log');
  const printed = (): string => readFileSync(logFile, 'utf8');
  const urlIn = (text: string): string | undefined => /^page: (\S+)$/m.exec(text)?.[1];
  const watch = controlProgram({
    name: 'bootwright watch',
    program: process.execPath,
    args: [
      ...[bundle, 'watch', '--kubeconfig', kubeconfig, '--cluster', `${cluster}/${cluster}`],
      ...(pageFile === undefined ? [] : ['--page-file', pageFile]),
    ],
    logFile,
    isReady: () => Promise.resolve(urlIn(printed()) !== undefined),
  });
  ends.defer(watch.stop);
  await watch.start();
  const page = { url: urlIn(printed()) ?? '', printed };
  return { management, managers, guest, kubeconfig, page, folder, bundle };
}

/** A server that no host uses. */
const unasked: MockServer = {
  url: '',
  requests: [],
  faults: faultPlan([]),
  close: () => Promise.resolve(),
};

interface Watched {
  readonly signal: AbortSignal;
  readonly watch: (run: ShownRun & { readonly folder: string }) => () => void;
}

/** Applies the cluster, and boots the host of each Machine, until all hosts are nodes. */
async function install(lab: CapiLab, watched: Watched): Promise<LabReport> {
  const { management, guest, folder, bundle } = lab;
  const over = new AbortController();
  using _limit = afterGivenTime(scenario.limitSeconds, () => {
    over.abort(new Error(`the limit of ${scenario.limitSeconds} s is over`));
  });
  const signal = AbortSignal.any([watched.signal, over.signal]);
  const { port } = new URL(guest.forwarder.url);
  const print = (text: string): void => void process.stdout.write(text);
  const { apply } = management;
  await applyCluster({ cluster, port: Number(port), apply, bundle, folder, print });
  const startedAt = Date.now();
  const view = clusterView(management, cluster, signal);
  const hosts: LabHost[] = [];
  const running: Promise<void>[] = [];
  const members: NodeFacts[] = [];
  let started: StartedCluster | undefined;
  const shared: Lab = {
    scenario,
    site: openSite,
    bundle,
    signal,
    token: '',
    kube: undefined,
    layered: undefined,
    inventory: { ...unasked, store: view.store },
    objects: { ...unasked, put: () => undefined },
    get cluster() {
      return started?.cluster;
    },
  };
  const endWatching = watched.watch({ name: 'capi', lab: shared, hosts, startedAt, folder });
  try {
    for await (const machine of view.machines()) {
      const host = await boot(lab, { view, machine, members });
      hosts.push(host);
      if (host.plan.role === 'bootstrap')
        started = await startCluster(
          {
            plan: planOf(scenario, members),
            invoker: 'openshift-installer',
            members,
            kube: guest,
            store: view.store,
            bootstrap: host.machine,
          },
          { bundle, folder, apiServer: guest.forwarder.url },
        );
      const ended = runHost(shared, host).then(() => {
        const { outcome, plan } = host;
        if (outcome !== 'done') over.abort(new Error(`${plan.name} has ended: ${String(outcome)}`));
      });
      running.push(ended);
      if (hosts.length === masters + workers) break;
    }
    await Promise.all(running);
    const complaints = (await started?.end()) ?? ['no bootstrap host was started'];
    const refused = signal.aborted ? [] : await endOf(lab, signal);
    const reports = hosts.map((host) => reportHost(shared, host, startedAt));
    const outcome = outcomeOf(reports);
    return reportOf({
      name: 'capi',
      startedAt,
      hosts: reports,
      inventory: { store: view.store },
      differences: [
        ...differencesOf(scenario, { outcome, hosts: reports }, complaints),
        ...refused,
        ...(signal.aborted ? [`the run was ended: ${(signal.reason as Error).message}`] : []),
      ],
    });
  } finally {
    over.abort(new Error('the run is over'));
    endWatching();
    for (const { machine } of hosts) machine.units.reset([], []);
    await Promise.all(hosts.map(({ server }) => server.close()));
    await started?.[Symbol.asyncDispose]();
    for (const { provider } of lab.managers) {
      const log = join(management.kube.folder, `${provider}.log`);
      await copyFile(log, join(folder, basename(log)));
    }
  }
}

interface Booting {
  readonly view: ClusterView;
  readonly machine: KubeObject;
  readonly members: NodeFacts[];
}

/**
 * Boots the host of a Machine with its bootstrap data; the infrastructure reports its addresses
 * from then on.
 */
async function boot(
  { management, folder }: CapiLab,
  { view, machine, members }: Booting,
): Promise<LabHost> {
  const { name } = machine.metadata;
  const ignition = await liveIgnition(management, { cluster, machine: name });
  const place = join(folder, name);
  const command = ignition.agentWords(join(place, 'root', 'etc', 'bootwright'));
  const valueOf = (flag: string): string => command[command.indexOf(flag) + 1] ?? '';
  const [role, hostId] = [HostSpec.shape.role.parse(valueOf('-r')), valueOf('--host-id')];
  const clusterId = valueOf('--cluster-id');
  const isBootstrap = role === 'bootstrap';
  const listed = role === 'worker' ? 'worker' : 'master';
  const ids = { clusterId, infraEnvId: clusterId };
  const record = hostSeed({ ...ids, id: hostId, hostname: name, role: listed, isBootstrap });
  const addresses = record.addresses.map(withoutPrefix);
  await management.client.mergeStatus(
    {
      kind: devMachines,
      namespace: cluster,
      name: textAt(machine, 'spec', 'infrastructureRef', 'name'),
    },
    { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  );
  view.add(record);
  const host = await openHost(
    HostSpec.parse({ name, role, addresses, write: { seconds: listed === 'worker' ? 3 : 2 } }),
    { hostId, infraEnvId: clusterId, command },
    { folder: place, faults: [], site: { files: ignition.files } },
  );
  if (!members.some((one) => one.role === 'master'))
    members.push(...(await mastersToCome(management)));
  const at = members.findIndex((one) => one.name === name);
  members.splice(at === -1 ? members.length : at, at === -1 ? 0 : 1, {
    name,
    role: listed,
    isBootstrap,
    hostId,
    addresses,
    providerID: () => registeredProvider(host),
  });
  return host;
}

/** The masters with the names of their future Machines: the number is known from the beginning. */
async function mastersToCome({ client }: Management): Promise<readonly NodeFacts[]> {
  const ref = { kind: controlPlanes, namespace: cluster, name: cluster };
  const controlPlane = (await client.get(ref)) as OpenShiftControlPlane | undefined;
  if (controlPlane === undefined) throw new Error('there is no control plane');
  return Array.from({ length: masters }, (_, index) => ({
    name: machineName(controlPlane, index),
    role: 'master',
    isBootstrap: false,
    hostId: '',
    addresses: [],
  }));
}

/** The provider ID that the Ignition on a host's disk gives the kubelet. */
async function registeredProvider({ machine }: LabHost): Promise<string | undefined> {
  const config = parseValidConfig(Buffer.from(await ignitionOnDisk(machine)));
  const path = '/etc/bootwright/register-node.sh';
  if (config.storage?.files?.every((file) => file.path !== path) !== false) return undefined;
  return /^id='(.*)'$/m.exec(String(readFileContent(config, path)))?.[1];
}

const pollMillis = 100;

/** Waits until core and the page show the end; resolves with the deviations. */
async function endOf(
  { management, managers, page }: CapiLab,
  signal: AbortSignal,
): Promise<readonly string[]> {
  await management.found({ kind: clusters, namespace: cluster }, (object) =>
    conditionOf(object, 'Available').status === 'True' ? true : undefined,
  );
  while (!page.printed().includes('cluster installed') && !signal.aborted) await pause(pollMillis);
  const refused = await Promise.all(managers.map((manager) => manager.refused()));
  return refused.flat().map((what) => `the API server refused the providers: ${what}`);
}
