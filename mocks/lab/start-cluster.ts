// The cluster of a run's hosts: its API server, its simulated events, and its jobs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterPlan } from '../cluster/cluster-state.ts';
import type { NodeFacts } from '../cluster/objects.ts';
import { type RunningCluster, runCluster } from '../cluster/run-cluster.ts';
import { simulateBootstrapInPlace } from '../cluster/no-cluster.ts';
import type { ClusterSite, JobRun, RunningJob } from '../cluster/site.ts';
import type { InventoryStore } from '../inventory/store.ts';
import { freePort } from '../kube/program.ts';
import { type Kube, type KubeOptions, type KubeParts, startKube } from '../kube/start.ts';
import { settingVariable, startAgent } from './agent.ts';
import type { Lab, LabHost } from './lab-host.ts';
import { unsaid } from './make-report.ts';
import { hasCluster, type Scenario } from './scenario.ts';

/** The cluster of a run, if one starts in it. */
export interface StartedCluster extends AsyncDisposable {
  readonly cluster: RunningCluster | undefined;
  /** Waits for the end of its jobs, and resolves with complaints. */
  readonly end: () => Promise<readonly string[]>;
}

/** Covers a slow machine, and a controller that waits for the service for up to 20 seconds. */
const JOB_LIMIT_MILLIS = 600_000;

/** An interface's address, `10.0.0.1/8`, without its prefix length. */
export const withoutPrefix = (address: string): string => address.replace(/\/.*$/, '');

/**
 * Starts the parts with which the hosts of a run start a cluster. If no host bootstraps one, the
 * result has no cluster.
 */
export async function openCluster(
  lab: Lab,
  hosts: readonly LabHost[],
  folder: string,
): Promise<StartedCluster> {
  const bootstrap = hosts.find(({ plan }) => plan.role === 'bootstrap');
  if (bootstrap === undefined || !hasCluster(lab.scenario)) {
    if (bootstrap !== undefined) simulateBootstrapInPlace(bootstrap.machine, lab.scenario.pace);
    return {
      cluster: undefined,
      end: () => Promise.resolve([]),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const isAudited = lab.scenario.dayAfter !== undefined;
  const kube = await startUnreachable(kubeOf(lab), { isAudited });
  kube.forwarder.slow(lab.scenario.cluster.apiRoundTripMillis);
  const { store } = lab.inventory;
  const { url } = kube.forwarder;
  store.setKubeconfig(kube.kubeconfig.replaceAll(url, lab.site.addressOf(url, 'api')));
  const members = hosts.map((host) => memberOf(store, host));
  return startCluster(
    {
      plan: { ...planOf(lab.scenario, members), isLayered: lab.layered !== undefined },
      layered: lab.layered,
      invoker: lab.scenario.cluster.invoker,
      members,
      kube,
      bootstrap: bootstrap.machine,
      store,
      isHeld: (step) => hosts.some(({ faults }) => faults.some(({ during }) => during === step)),
      isUnsaid: () => unsaid(lab.scenario, hosts).length > 0,
    },
    {
      bundle: lab.bundle,
      folder,
      enter: lab.site.network?.enter ?? [],
      environment: lab.site.environment,
      apiServer: lab.site.addressOf(url, 'api'),
    },
  );
}

function kubeOf({ kube, scenario }: Lab): KubeParts {
  if (kube === undefined) throw new Error(`${scenario.title} needs an API server`);
  return kube;
}

/** Runs a cluster whose jobs run the built bundle and write their files into a folder. */
export async function startCluster(
  site: Omit<ClusterSite, 'startJob'>,
  place: JobPlace,
): Promise<StartedCluster> {
  const { kube } = site;
  const cluster = await runCluster({
    ...site,
    startJob: jobStarter(kube.forwarder.url, place),
  });
  return {
    cluster,
    end: async () => {
      const limit = Date.now() + JOB_LIMIT_MILLIS;
      while (cluster.runningJobs() > 0 && Date.now() < limit) await sleep(50);
      const late = cluster.runningJobs() > 0 ? ['a job of Bootwright did not end'] : [];
      return [...(await cluster.complaints()), ...late];
    },
    [Symbol.asyncDispose]: async () => {
      await cluster[Symbol.asyncDispose]();
      await kube.close();
    },
  };
}

/** Starts an API server that is unreachable until bootkube has brought it up. */
export async function startUnreachable(parts: KubeParts, options?: KubeOptions): Promise<Kube> {
  const kube = await startKube(parts, options);
  kube.forwarder.moveTo({ port: await freePort() }, 'reset');
  return kube;
}

/** The facts of a host that the cluster needs. */
function memberOf(store: InventoryStore, { plan, hostId }: LabHost): NodeFacts {
  const host = store.host(hostId);
  return {
    name: plan.name,
    role: plan.role === 'bootstrap' ? 'master' : plan.role,
    isBootstrap: plan.role === 'bootstrap',
    hostId,
    addresses: (host?.addresses ?? []).map(withoutPrefix),
  };
}

/**
 * Up to this release of OpenShift 4, etcd needs an override to start with fewer than three members
 * (assisted-installer, 2020).
 */
const LAST_WITH_OVERRIDE = 6;

/** The kind of cluster of a scenario with these members. */
export function planOf(
  { cluster, pace }: Pick<Scenario, 'cluster' | 'pace'>,
  members: readonly NodeFacts[],
): ClusterPlan {
  const { openshiftVersion: version } = cluster;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const needsEtcdOverride = major === 4 && minor <= LAST_WITH_OVERRIDE;
  return { ...cluster, members, needsEtcdOverride, pace, version };
}

/** Bundle, network and folder of the jobs. */
interface JobPlace {
  readonly bundle: string;
  readonly folder: string;
  /** Words before the program, which enter the network of the nodes. */
  readonly enter?: readonly string[];
  /** Environment of every program in that network. */
  readonly environment?: Readonly<Record<string, string>>;
  /** URL of the API server for pods. */
  readonly apiServer?: string;
}

/** Runs the product as a pod of the cluster would; all its files are in the folder of the run. */
function jobStarter(
  server: string,
  { bundle, folder, enter = [], environment = {}, apiServer = server }: JobPlace,
): (job: JobRun) => Promise<RunningJob> {
  const starts = new Map<string, number>();
  return async ({ name, podId, args, env, kubeconfig, hostPid, files = {}, signal }) => {
    const home = join(folder, name);
    const count = (starts.get(name) ?? 0) + 1;
    starts.set(name, count);
    await mkdir(join(home, 'root', 'var', 'log'), { recursive: true });
    const file = join(home, 'kubeconfig');
    if (kubeconfig !== undefined) {
      await writeFile(file, kubeconfig.replaceAll(server, apiServer), { mode: 0o600 });
    }
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), content);
    }
    const isMounted = (word: string): boolean =>
      Object.keys(files).some((path) => path === word || path.startsWith(`${word}/`));
    const logFile = join(home, `log-${count}`);
    const program = startAgent({
      enter: [...enter, ...(await insidePod(home, podId))],
      bundle,
      args: [
        ...args.map((word) => (isMounted(word) ? join(home, word) : word)),
        ...(kubeconfig === undefined ? [] : ['--kubeconfig', file]),
      ],
      env: {
        PATH: [
          ...(hostPid === undefined ? [] : [join(folder, hostPid, 'bin')]),
          process.env['PATH'] ?? '',
        ].join(delimiter),
        HOME: home,
        TMPDIR: home,
        [settingVariable('host.root')]:
          hostPid === undefined ? join(home, 'root') : join(folder, hostPid, 'root'),
        ...environment,
        ...env,
      },
      logFile,
    });
    signal.addEventListener('abort', program.stop);
    return {
      log: () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : ''),
      textOf: (path) => readFileSync(join(home, path), 'utf8'),
      kill: program.kill,
      ended: program.ended.then(({ exitCode }) => {
        signal.removeEventListener('abort', program.stop);
        return exitCode ?? 1;
      }),
    };
  };
}

/**
 * Words that show a program the log that a kubelet mounts into each container, by which it finds
 * its pod. If a user may not mount, there is no such log, and the next process of the same pod
 * waits for the lease of the one before it.
 */
async function insidePod(home: string, podId: string): Promise<readonly string[]> {
  mayMount ??= spawnSync('unshare', ['-Urm', 'true']).status === 0;
  if (!mayMount) return [];
  const own = join(home, 'pods', podId);
  const [log, dev] = [join(own, 'containers/controller/log'), join(own, 'dev')];
  const binds = [
    [log, join(dev, 'termination-log')],
    ...['null', 'random', 'urandom'].map((name) => [`/dev/${name}`, join(dev, name)] as const),
  ] as const;
  await Promise.all([dirname(log), dev].map((folder) => mkdir(folder, { recursive: true })));
  await Promise.all([log, ...binds.map(([, to]) => to)].map((file) => writeFile(file, '')));
  const mounts = binds.map(([from, to]) => `mount --bind '${from}' '${to}'`);
  const script = [...mounts, `mount --rbind '${dev}' /dev`, 'exec "$@"'].join(' && ');
  return ['unshare', '-Urm', 'sh', '-c', script, 'sh'];
}

let mayMount: boolean | undefined;
