import { csvOf, csvSnapshot } from '../../cluster/operators.ts';
import { noteFailed } from '../../engine/failures.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { minutes } from '../../model/duration.ts';
import { finalizingStages, type MonitoredOperator } from '../../ports/inventory.ts';
import { combineWatches } from '../../steps/cluster/kube-watch.ts';
import {
  followedOlm,
  type OperatorManifest,
  readCustomManifests,
  setUpOperators,
} from './apply-manifests.ts';
import { type Finalizing, reportOperators, type SeenOperator } from './finalizing.ts';
import { type StepScope, untilDone } from './scope.ts';

const [, , initStage, applyStage, waitStage] = finalizingStages;

/**
 * Goes through the stages of the operators that OLM installs. The service times out each of them,
 * and the controller continues with the next; it then reports operators that are not available as
 * failed. The installation succeeds without them.
 */
export async function installOlmOperators(scope: StepScope, finalizing: Finalizing): Promise<void> {
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
