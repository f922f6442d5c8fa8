import { noteFailed } from '../../engine/failures.ts';
import { clusterOperators, configMaps } from '../../kube/kinds.ts';
import {
  clusterOperatorSnapshot,
  clusterOperatorsReport,
  clusterVersionRef,
  clusterVersionSnapshot,
  csvOf,
  csvSnapshot,
  hasConsole,
} from '../../cluster/operators.ts';
import { textAt } from '../../kube/object.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { hours, type Millis, minutes } from '../../model/duration.ts';
import {
  finalizingStages,
  type InstallationResult,
  type MonitoredOperator,
} from '../../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { combineWatches, followed, followedOne, gapAmong } from '../../steps/cluster/kube-watch.ts';
import {
  followedOlm,
  type OperatorManifest,
  readCustomManifests,
  setUpOperators,
} from './apply-manifests.ts';
import {
  beginFinalizing,
  type Finalizing,
  reportOperators,
  type SeenOperator,
} from './finalizing.ts';
import { type StepScope, untilDone } from './scope.ts';

const [operatorsStage, routerStage] = finalizingStages;

/**
 * Completes the installation at the service: once the service finalizes the cluster, it goes
 * through the stages in their order, and then reports the result. A restarted controller continues
 * at the stage in the service.
 */
export async function completeInstallation(scope: StepScope): Promise<void> {
  const { inventory, signal } = scope;
  const finalizing = await beginFinalizing(scope);
  const result = await finalize(scope, finalizing);
  if (finalizing.isEnded()) return;
  await finalizing.deliver('the result of the installation', () =>
    inventory.complete(result, signal),
  );
  inventory.refresh();
}

async function finalize(scope: StepScope, finalizing: Finalizing): Promise<InstallationResult> {
  if (await finalizing.enter(operatorsStage)) {
    const failure = await waitForClusterOperators(scope, finalizing);
    if (failure !== undefined) return failure;
  }
  if (await finalizing.enter(routerStage)) await uploadRouterCa(scope, finalizing);
  await installOlmOperators(scope, finalizing);
  await finalizing.enter('Done');
  return { isSuccess: true, error: '' };
}

/** The service's timeout of this stage. */
const operatorsLimit: Millis = hours(10);

/** Waits for the operators that the service waits for; returns the failure after a timeout. */
async function waitForClusterOperators(
  scope: StepScope,
  { watch, isEnded, spentIn }: Finalizing,
): Promise<InstallationResult | undefined> {
  const { kube, clock, config } = scope;
  const { checkClusterVersion } = config.controller;
  const version = followedOne(kube, clusterVersionRef);
  const operators = followed(kube, { kind: clusterOperators });
  // A restarted controller does not wait ten more hours: the service counts from the beginning of
  // the stage.
  const since = clock.elapsed() - spentIn(operatorsStage);
  const isLate = (): boolean => clock.elapsed() - since >= operatorsLimit;
  const builtin = (): readonly SeenOperator[] =>
    builtinOperators(
      version.view().objects[0],
      operators.view().objects.find(({ metadata }) => metadata.name === 'console'),
      { gap: gapAmong(version, operators), waitsForVersion: checkClusterVersion },
    );
  const pending = await reportOperators(scope, builtin, {
    sentence: 'the operators of the cluster are available, or the installation ends',
    watch: combineWatches(watch, version.watch, operators.watch),
    isOver: () => isEnded() || isLate(),
  });
  if (pending.length === 0) return undefined;
  const { isSynced, objects } = operators.view();
  return {
    isSuccess: false,
    error: 'Stopped waiting for cluster operators to be available: context deadline exceeded',
    ...(isSynced ? { data: clusterOperatorsReport(objects) } : {}),
  };
}

/**
 * The operators of the cluster to wait for. A cluster without a console has no console operator.
 * @param gap the reason why the objects may be outdated
 * @param waitsForVersion whether to wait for the ClusterVersion as well
 */
export function builtinOperators(
  version: KubeObject | undefined,
  console: KubeObject | undefined,
  { gap, waitsForVersion }: { readonly gap: string | undefined; readonly waitsForVersion: boolean },
): readonly SeenOperator[] {
  const reason = gap ?? 'it is not in the cluster yet';
  const found: SeenOperator[] = [];
  // Before the capabilities are known the console is expected, and not reported.
  if (version === undefined) found.push({ name: 'console', seen: undefined, reason });
  else if (hasConsole(version)) {
    const seen = console && clusterOperatorSnapshot(console);
    found.push({ name: 'console', seen, reason });
  }
  if (waitsForVersion)
    found.push({ name: 'cvo', seen: version && clusterVersionSnapshot(version), reason });
  return found;
}

const routerCaRef: KubeRef = {
  kind: configMaps,
  namespace: 'openshift-config-managed',
  name: 'default-ingress-cert',
};

/** Uploads the CA of the routes to the service, which adds it to the users' kubeconfig. */
async function uploadRouterCa(scope: StepScope, { watch, isEnded }: Finalizing): Promise<void> {
  const { kube, inventory } = scope;
  const found = followedOne(kube, routerCaRef);
  await untilDone(scope, {
    sentence: 'the service has the CA of the routes',
    isOver: isEnded,
    watch: combineWatches(watch, found.watch),
    work: async (signal) => {
      const pem = textAt(found.view().objects[0], 'data', 'ca-bundle.crt');
      if (pem === '') return { status: 'the router has no CA yet' };
      await inventory.uploadIngressCa(pem, signal);
      return { done: undefined };
    },
  });
}

const [, , initStage, applyStage, waitStage] = finalizingStages;

/**
 * Goes through the stages of the operators that OLM installs. The service times out each of them,
 * and the controller continues with the next; it then reports operators that are not available as
 * failed. The installation succeeds without them.
 */
async function installOlmOperators(scope: StepScope, finalizing: Finalizing): Promise<void> {
  if (finalizing.isPast(waitStage)) return;
  const isInit = await finalizing.enter(initStage);
  const operators = await listOlmOperators(scope, finalizing);
  if (operators.length === 0) return;
  const olm = followedOlm(scope.kube);
  const { watch } = finalizing;
  if (isInit) {
    await setUpOperators(scope, olm, () => ({ operators, manifests: [] }), {
      sentence: 'OLM has initialized every operator',
      watch,
      isOver: () => finalizing.isOver(initStage),
    });
  }
  if (await finalizing.enter(applyStage)) {
    const manifests = await downloadManifests(scope, finalizing);
    await setUpOperators(scope, olm, () => ({ operators, manifests }), {
      sentence: 'the manifests of every operator are applied',
      watch,
      isOver: () => finalizing.isOver(applyStage),
    });
  }
  if (!(await finalizing.enter(waitStage))) return;
  const seenOperators = (): readonly SeenOperator[] =>
    operators.map((operator) => {
      const csv = csvOf(operator, olm.objects());
      const seen = csv && csvSnapshot(csv);
      return { name: operator.name, seen, reason: olm.gap() ?? 'there is no CSV yet' };
    });
  const pending = await reportOperators(scope, seenOperators, {
    sentence: 'every operator of OLM is available',
    watch: combineWatches(watch, olm.watch),
    isOver: () => finalizing.isOver(waitStage),
  });
  if (pending.length > 0 && !finalizing.isEnded()) await reportTimedOut(scope, finalizing, pending);
}

/**
 * The operators of OLM that the service waits for; empty when the stage times out before the
 * service has listed them.
 */
async function listOlmOperators(
  scope: StepScope,
  { watch, isOver }: Finalizing,
): Promise<readonly MonitoredOperator[]> {
  const listed = await untilDone(scope, {
    sentence: 'the service lists its operators',
    watch,
    isOver: () => [initStage, applyStage, waitStage].some(isOver),
    work: async (signal) => ({ done: await scope.inventory.operators(signal) }),
  });
  return (listed ?? []).filter(({ type }) => type === 'olm');
}

/**
 * The file in which the service keeps the manifests that its operators need beside a subscription.
 */
const manifestsFile = 'custom_manifests.json';

/** Larger than any list of manifests of the service. */
const mostManifestBytes = 16 * 1024 * 1024;

/** The manifests of operators; empty when the stage times out before they can be read. */
async function downloadManifests(
  scope: StepScope,
  { watch, isOver }: Finalizing,
): Promise<readonly OperatorManifest[]> {
  const { inventory, note } = scope;
  const found = await untilDone(scope, {
    sentence: `${manifestsFile} is downloaded`,
    watch,
    isOver: () => isOver(applyStage),
    work: async (signal) => {
      const { body } = await inventory.clusterFile(manifestsFile, signal);
      const bytes = await readUpTo(body, mostManifestBytes);
      const text = Buffer.from(bytes ?? []).toString('utf8');
      const reading = readCustomManifests(text);
      return reading === undefined
        ? { status: `${manifestsFile} cannot be read` }
        : { done: reading };
    },
  });
  for (const problem of found?.problems ?? []) note('warn', `left out ${problem}`);
  return found?.manifests ?? [];
}

/** Ten attempts of 30 s. */
const sweepLimit = minutes(5);

/** Reports operators after the timeout as failed; final statuses stay. */
async function reportTimedOut(
  scope: StepScope,
  { isEnded }: Finalizing,
  pending: readonly string[],
): Promise<void> {
  const { inventory, note } = scope;
  note('warn', 'operators did not become available in time', { operators: pending.join(', ') });
  try {
    await untilDone(scope, {
      sentence: 'the service has the failed operators',
      isOver: isEnded,
      within: sweepLimit,
      work: async (signal) => {
        for (const { name, version, status } of await inventory.operators(signal)) {
          if (!pending.includes(name) || status === 'failed') continue;
          const statusInfo = 'Waiting for operator timed out';
          await inventory.reportOperator({ name, version, status: 'failed', statusInfo }, signal);
        }
        return { done: undefined };
      },
    });
  } catch (error) {
    noteFailed(scope, 'continuing without the report of failed operators', error);
  }
}
