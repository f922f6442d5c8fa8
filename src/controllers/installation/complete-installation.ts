import { clusterOperators, configMaps } from '../../kube/kinds.ts';
import {
  clusterOperatorSnapshot,
  clusterOperatorsReport,
  clusterVersionRef,
  clusterVersionSnapshot,
  hasConsole,
} from '../../cluster/operators.ts';
import { textAt } from '../../kube/object.ts';
import { hours, type Millis } from '../../model/duration.ts';
import { finalizingStages, type InstallationResult } from '../../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { followed, followedOne, gapAmong, combineWatches } from '../../steps/cluster/kube-watch.ts';
import {
  beginFinalizing,
  type Finalizing,
  reportOperators,
  type SeenOperator,
} from './finalizing.ts';
import { installOlmOperators } from './olm.ts';
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
