import { clusterOperators, configMaps } from '../../kube/kinds.ts';
import {
  clusterOperatorSnapshot,
  clusterOperatorsReport,
  clusterVersionRef,
  clusterVersionSnapshot,
  hasConsole,
} from '../../cluster/operators.ts';
import { textAt } from '../../kube/object.ts';
import { hours, type Millis, unlimited } from '../../model/duration.ts';
import { finalizingStages, type InstallationResult } from '../../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { followed, followedOne, together } from '../../steps/cluster/kube-watch.ts';
import {
  beginFinalizing,
  type Finalizing,
  reportOperators,
  type SeenOperator,
} from './finalizing.ts';
import { NewCluster } from './new-cluster.ts';
import { installOlmOperators } from './olm.ts';
import { type ControllerScope, controllerStep, untilDone } from './step.ts';
import { gapIn } from '../../ports/kube-failures.ts';

const [operatorsStage, routerStage] = finalizingStages;

/**
 * Ends the installation at the service: once it finalizes the cluster, the stages in their order,
 * then the result. A restarted controller continues at the stage that the service knows.
 */
export const completeInstallation = controllerStep({
  id: 'controller/complete-installation',
  title: 'Complete the installation at the service',
  uses: ['inventory', 'kube', 'adminKube', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: ({ cluster }) =>
    cluster.isAgentBased
      ? 'the service of the agent-based installer does not wait for it'
      : undefined,
  limit: unlimited,
  run: async (scope) => {
    const { inventory, signal } = scope;
    const finalizing = await beginFinalizing(scope);
    const result = await finalize(scope, finalizing);
    if (finalizing.isEnded()) return;
    await finalizing.deliver('the result of the installation', () =>
      inventory.complete(result, signal),
    );
    inventory.refresh();
  },
});

type FinalizeScope = ControllerScope<'inventory' | 'kube' | 'adminKube' | 'clock'>;

const success: InstallationResult = { isSuccess: true, error: '' };

async function finalize(scope: FinalizeScope, finalizing: Finalizing): Promise<InstallationResult> {
  if (await finalizing.enter(operatorsStage)) {
    const failure = await waitForClusterOperators(scope, finalizing);
    if (failure !== undefined) return failure;
  }
  if (await finalizing.enter(routerStage)) await uploadRouterCa(scope, finalizing);
  await installOlmOperators(scope, finalizing);
  await finalizing.enter('Done');
  return success;
}

/** As long as the service gives this stage. */
const operatorsLimit: Millis = hours(10);

/** Waits for the operators that the service waits for; the failure when they take too long. */
async function waitForClusterOperators(
  scope: FinalizeScope,
  { watch, isEnded, spentIn }: Finalizing,
): Promise<InstallationResult | undefined> {
  const { kube, clock, config } = scope;
  const version = followedOne(kube, clusterVersionRef);
  const operators = followed(kube, { kind: clusterOperators });
  // A restarted controller does not wait ten hours more: the service counts from the beginning of
  // the stage.
  const since = clock.elapsed() - spentIn(operatorsStage);
  const isLate = (): boolean => clock.elapsed() - since >= operatorsLimit;
  const pending = await reportOperators(scope, {
    sentence: 'the operators of the cluster are available',
    watch: together(watch, version.watch, operators.watch),
    operators: () =>
      builtinOperators({
        version: version.view().objects[0],
        console: operators.view().objects.find(({ metadata }) => metadata.name === 'console'),
        gap: gapIn(version.view()) ?? gapIn(operators.view()),
        waitsForVersion: config.controller.checkClusterVersion,
      }),
    isStopped: () => isEnded() || isLate(),
  });
  if (pending.length === 0) return undefined;
  const { isSynced, objects } = operators.view();
  return {
    isSuccess: false,
    error: 'Stopped waiting for cluster operators to be available: context deadline exceeded',
    ...(isSynced ? { data: clusterOperatorsReport(objects) } : {}),
  };
}

/** What decides which operators of the cluster are waited for. */
export interface BuiltinState {
  readonly version: KubeObject | undefined;
  readonly console: KubeObject | undefined;
  /** Why they may be unknown. */
  readonly gap: string | undefined;
  /** The version of the cluster is waited for as well. */
  readonly waitsForVersion: boolean;
}

/**
 * The operators of the cluster that are waited for: a cluster without a console has none to become
 * available.
 */
export function builtinOperators(state: BuiltinState): readonly SeenOperator[] {
  const { version, console, gap, waitsForVersion } = state;
  const reason = gap ?? 'it is not in the cluster yet';
  const needsConsole = version === undefined || hasConsole(version);
  // Before the capabilities are known the console counts as wanted, and is not reported.
  const seenConsole =
    version === undefined || console === undefined ? undefined : clusterOperatorSnapshot(console);
  const seenVersion = version === undefined ? undefined : clusterVersionSnapshot(version);
  return [
    ...(needsConsole ? [{ name: 'console', seen: seenConsole, reason }] : []),
    ...(waitsForVersion ? [{ name: 'cvo', seen: seenVersion, reason }] : []),
  ];
}

const routerCaRef: KubeRef = {
  kind: configMaps,
  namespace: 'openshift-config-managed',
  name: 'default-ingress-cert',
};

/** Gives the service the CA of the routes, which makes its kubeconfig one for users. */
async function uploadRouterCa(scope: FinalizeScope, { watch, isEnded }: Finalizing): Promise<void> {
  const { kube, inventory } = scope;
  const found = followedOne(kube, routerCaRef);
  await untilDone(scope, {
    sentence: 'the service has the CA of the routes',
    isOver: isEnded,
    watch: together(watch, found.watch),
    work: async (signal) => {
      const pem = textAt(found.view().objects[0], 'data', 'ca-bundle.crt');
      if (pem === '') return { status: 'the router has no CA yet' };
      await inventory.uploadIngressCa(pem, signal);
      return { done: undefined };
    },
  });
}
