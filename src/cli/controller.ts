import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemClock, systemPorts } from '../adapters/clock.ts';
import { localHost } from '../adapters/host/local-host.ts';
import { openInventory } from '../adapters/http/inventory.ts';
import { calmTimeouts, type KubeTimeouts } from '../adapters/kube/api-server.ts';
import { clusterCredentials as hostOrService } from '../adapters/kube/credentials.ts';
import { kubeCluster, type KubeCluster } from '../adapters/kube/kube.ts';
import { onFirstUse } from '../adapters/kube/on-first-use.ts';
import {
  controllerLogFile,
  controllerToken,
  clusterProxies,
  clusterProxyRef,
} from '../cluster/controller.ts';
import { trimObject } from '../controllers/trim-object.ts';
import { certificateSigningRequests, nodes } from '../kube/kinds.ts';
import { readControllerSettings, renewedToken } from '../config/controller.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { type Emit, notesOf } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { maskerFor, secretValues } from '../lib/masker.ts';
import { minutes, renderDuration, seconds } from '../model/duration.ts';
import type { Secret } from '../model/secret.ts';
import type { Kube, KubeKind } from '../ports/kube.ts';
import { isForbidden } from '../ports/kube-failures.ts';
import { type Contender, holdLease } from '../kube/lease.ts';
import { recordedInstallation } from '../controllers/installation/without-service.ts';
import { runInstallation } from '../controllers/installation/installation.ts';
import type { ControllerConfig, ControllerPorts } from '../controllers/installation/scope.ts';
import { commandCredentials } from './cluster.ts';
import { type PodCall, withoutJournal } from './run-context.ts';
import { emitRetries, networkOf } from './network.ts';

const tokenFile = `${controllerToken.folder}/token`;

/**
 * The kubeconfig of a single node, whose controller starts before its final control plane. It has
 * priority over the credentials of the pod.
 */
const bootstrapKubeconfig = '/tmp/bootstrap-secrets/kubeconfig';

/**
 * Completes the installation of its own cluster, and resolves with the exit code: 0 once the
 * service reports how the installation ended; without a service, once the bootstrap host has
 * joined. A signal ends it within four seconds, with the exit code of that signal; the next run
 * continues.
 */
export async function runController(call: PodCall): Promise<number> {
  const settings = await readControllerSettings(call.environment, tokenFile);
  const { mask, register } = maskerFor(settings.config);
  const level = call.verbose ? 'debug' : 'info';
  const logFile = logFileIn(call.environment);
  const target = { level, stream: 'stdout', file: logFile, mask } as const;
  return withoutJournal(target, async ({ emit, signal }) => {
    await using open = new AsyncDisposableStack();
    const kube = await ownCluster(call, emit);
    open.defer(kube.close);
    const proxy = await readProxies(kube, call.environment, emit, signal);
    const config = {
      ...settings.config,
      namespace: settings.namespace,
      logFile,
      proxy,
    };
    for (const secret of secretValues({ proxy })) register(secret);
    const readToken = async (): Promise<Secret | undefined> => {
      const token = await renewedToken(tokenFile);
      if (token !== undefined) register(token);
      return token;
    };
    const { ports, close } = await openPorts(config, kube, emit, readToken);
    open.defer(close);
    const lease = await holdLease(
      { ...ports, signal, note: notesOf(emit, 'controller/hold-lease') },
      contenderOf(config),
    );
    open.defer(lease.release);
    await runInstallation({
      ...ports,
      config,
      emit,
      signal: AbortSignal.any([signal, lease.lost]),
    });
  });
}

/** A pod does not set TMPDIR; several controllers on one machine set one each. */
const logFileIn = ({ TMPDIR: folder = '' }: Environment): string =>
  folder === '' ? controllerLogFile : join(folder, basename(controllerLogFile));

/**
 * The UID of the pod in which a process runs, by the log that the kubelet mounts into each
 * container (`kubelet_pods.go`). The pod's name would be the name of the node, because the pod uses
 * the host network. Undefined outside of a pod, also on a node, which has the volumes of all pods.
 */
export const podIn = (mountInfo: string): string | undefined =>
  /\/pods\/([0-9a-f]{8}-[0-9a-f-]{27})\/containers\/[^/ ]+\/[^/ ]+ \/dev\/termination-log /.exec(
    mountInfo,
  )?.[1];

/** Outside of a pod, no information shows that an earlier process has ended. */
export const ownPod = (): string =>
  podIn(readFileSync('/proc/self/mountinfo', 'utf8')) ?? systemPorts.random.uuid();

const contenderOf = ({ namespace, cluster }: ControllerConfig): Contender => ({
  lease: 'bootwright-controller',
  namespace,
  pod: ownPod(),
  isSingleNode: cluster.controlPlaneCount === 1,
});

/** @throws AgentError `cli.not-in-cluster`, `config.file-not-read` */
async function ownCluster({ environment, kubeconfig }: PodCall, emit: Emit): Promise<KubeCluster> {
  const file = kubeconfig ?? (existsSync(bootstrapKubeconfig) ? bootstrapKubeconfig : undefined);
  const credentials = await commandCredentials(environment, file);
  return kubeCluster({
    ...systemPorts,
    credentials,
    emit,
    keep: trimObject,
    denials: 'final',
    followTimeouts: controllerTimeouts,
  });
}

/**
 * The controller reports a node and answers a request within seconds, so it must soon notice a
 * server that falls silent.
 */
const controllerTimeouts = (kind: KubeKind): KubeTimeouts =>
  kind === nodes || kind === certificateSigningRequests
    ? { ...calmTimeouts, watch: seconds(30) }
    : calmTimeouts;

/** The API server may serve the kind a moment after the job has started. */
const manifestsWait = minutes(2);

/**
 * The proxies through which the service is reached. The controller can do nothing without an answer
 * of the API server, so it asks until the server answers. A refusal means that there are no
 * proxies.
 */
async function readProxies(
  kube: Kube,
  environment: Environment,
  emit: Emit,
  signal: AbortSignal,
): Promise<ControllerConfig['proxy']> {
  const own = proxiesIn(environment);
  const settings = ({ http, https, no }: typeof own): ControllerConfig['proxy'] => ({
    http: new SecretUrl(http),
    https: new SecretUrl(https),
    no,
  });
  const note = notesOf(emit, 'controller/read-proxies');
  const began = systemClock.elapsed();
  let isNoted = false;
  for (;;) {
    try {
      const proxy = await kube.get(clusterProxyRef, signal);
      if (proxy !== undefined || systemClock.elapsed() - began >= manifestsWait) {
        return settings(clusterProxies(proxy, own));
      }
      const limit = renderDuration(manifestsWait);
      if (!isNoted) note('info', `waiting for the Proxy of the cluster, at most ${limit}`);
      isNoted = true;
    } catch (thrown) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(thrown);
      note('warn', 'the proxies of the cluster cannot be read', { code, reason: message });
      if (isForbidden(thrown)) return settings(own);
    }
    await systemClock.sleep(seconds(5), signal);
  }
}

/** Ports connect on first use. */
async function openPorts(
  config: ControllerConfig,
  kube: Kube,
  emit: Emit,
  readToken: () => Promise<Secret | undefined>,
) {
  const network = await networkOf(config);
  const onRetry = emitRetries(emit);
  const service = openInventory(config, { network, onRetry, readToken });
  const inventory = config.service.url.isEmpty
    ? { ...service, ...recordedInstallation(kube) }
    : service;
  const host = localHost();
  // A single node has the kubeconfig of its administrator as a file; elsewhere the service keeps
  // it.
  const sources = { host, clock: systemClock, path: bootstrapKubeconfig };
  const adminKube = onFirstUse(() =>
    Promise.resolve(
      kubeCluster({ ...systemPorts, emit, credentials: hostOrService({ ...sources, inventory }) }),
    ),
  );
  const ports: ControllerPorts = { ...systemPorts, kube, adminKube, inventory, host };
  return {
    ports,
    close: async () => {
      await Promise.allSettled([inventory, adminKube].map(({ close }) => close()));
    },
  };
}
