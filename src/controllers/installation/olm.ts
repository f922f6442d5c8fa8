import { csvOf, csvSnapshot, inRelease } from '../../cluster/operators.ts';
import { asAgentError } from '../../engine/failures.ts';
import { untilAborted } from '../../engine/wait.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { minutes, seconds, unlimited } from '../../model/duration.ts';
import { finalizingStages, type MonitoredOperator } from '../../ports/inventory.ts';
import { together } from '../../steps/cluster/kube-watch.ts';
import {
  followedOlm,
  type OperatorManifest,
  readCustomManifests,
  setUpOperators,
} from './apply-manifests.ts';
import { type Finalizing, reportOperators } from './finalizing.ts';
import type { ControllerScope } from './step.ts';

type OlmScope = ControllerScope<'inventory' | 'kube' | 'adminKube' | 'clock'>;

const [, , initStage, applyStage, waitStage] = finalizingStages;

/**
 * Goes through the stages of the operators that OLM installs. The service gives up each of them after a time, and we
 * continue with the next; operators that did not become available are reported as failed then. The installation succeeds
 * without them.
 */
export async function installOlmOperators(scope: OlmScope, finalizing: Finalizing): Promise<void> {
  const { config, kube } = scope;
  if (finalizing.isPast(waitStage)) return;
  const isInit = await finalizing.enter(initStage);
  const listed = await listOlmOperators(scope, finalizing);
  if (listed.length === 0) return;
  const operators = listed.map((one) => inRelease(one, config.cluster.openshiftVersion));
  const olm = followedOlm(kube);
  if (isInit) {
    await setUpOperators(scope, {
      sentence: 'OLM has initialized every operator',
      ...{ olm, watch: finalizing.watch },
      setup: () => ({ operators, manifests: [] }),
      isStopped: () => finalizing.isOver(initStage),
    });
  }
  if (await finalizing.enter(applyStage)) {
    const manifests = await downloadManifests(scope, finalizing);
    await setUpOperators(scope, {
      sentence: 'the manifests of every operator are applied',
      ...{ olm, watch: finalizing.watch },
      setup: () => ({ operators, manifests }),
      isStopped: () => finalizing.isOver(applyStage),
    });
  }
  if (!(await finalizing.enter(waitStage))) return;
  const pending = await reportOperators(scope, {
    sentence: 'every operator of OLM is available',
    watch: together(finalizing.watch, olm.watch),
    operators: () =>
      operators.map((operator) => {
        const csv = csvOf(operator, olm.objects());
        const seen = csv === undefined ? undefined : csvSnapshot(csv);
        return { name: operator.name, seen, reason: olm.gap() ?? 'there is no CSV yet' };
      }),
    isStopped: () => finalizing.isOver(waitStage),
  });
  if (pending.length > 0 && !finalizing.isEnded()) await reportTimedOut(scope, finalizing, pending);
}

/** The operators of OLM that the service waits for; none when it gives up before it has listed them. */
function listOlmOperators(
  { inventory, signal, until }: OlmScope,
  { watch, isOver }: Finalizing,
): Promise<readonly MonitoredOperator[]> {
  return until(
    'the service lists its operators',
    async () => {
      if ([initStage, applyStage, waitStage].some(isOver)) return { done: [] };
      try {
        const all = await inventory.operators(signal);
        return { done: all.filter(({ type }) => type === 'olm') };
      } catch (error) {
        signal.throwIfAborted();
        return { status: `the service does not list its operators (${asAgentError(error).code})` };
      }
    },
    { watch, every: seconds(10), within: unlimited },
  );
}

/** Where the service keeps what its operators need beside a subscription. */
const manifestsFile = 'custom_manifests.json';

/** Larger than any list of manifests that the service makes. */
const mostManifestBytes = 16 * 1024 * 1024;

/** The manifests of operators; none when the service gives up the stage before they can be read. */
function downloadManifests(
  { inventory, config, note, signal, until }: OlmScope,
  { watch, isOver }: Finalizing,
): Promise<readonly OperatorManifest[]> {
  return until<readonly OperatorManifest[]>(
    `${manifestsFile} is downloaded`,
    async () => {
      if (isOver(applyStage)) return { done: [] };
      try {
        const { body } = await inventory.clusterFile(manifestsFile, signal);
        const bytes = await readUpTo(body, mostManifestBytes);
        const text = Buffer.from(bytes ?? []).toString('utf8');
        const reading = readCustomManifests(text, config.cluster.openshiftVersion);
        if (reading === undefined) return { status: `${manifestsFile} cannot be read` };
        for (const problem of reading.problems) note('warn', `left out ${problem}`);
        return { done: reading.manifests };
      } catch (error) {
        signal.throwIfAborted();
        return { status: `${manifestsFile} cannot be downloaded (${asAgentError(error).code})` };
      }
    },
    { watch, every: seconds(30), within: unlimited },
  );
}

/** Ten attempts of 30 s. */
const sweepLimit = minutes(5);

/** Reports operators that nobody waits for any longer as failed; those that have an end keep it. */
async function reportTimedOut(
  { inventory, note, signal, until }: OlmScope,
  { isEnded }: Finalizing,
  pending: readonly string[],
): Promise<void> {
  const swept = async (): Promise<void> => {
    for (const { name, version, status } of await inventory.operators(signal)) {
      if (!pending.includes(name) || status === 'failed') continue;
      const statusInfo = 'Waiting for operator timed out';
      await inventory.reportOperator({ name, version, status: 'failed', statusInfo }, signal);
    }
  };
  note('warn', 'operators did not become available in time', { operators: pending.join(', ') });
  try {
    await until(
      'the service has the failed operators',
      async () => {
        if (isEnded()) return { done: undefined };
        try {
          await swept();
          return { done: undefined };
        } catch (error) {
          signal.throwIfAborted();
          return { status: `the service does not take them (${asAgentError(error).code})` };
        }
      },
      { watch: (_, ended) => untilAborted(ended), every: seconds(30), within: sweepLimit },
    );
  } catch (error) {
    signal.throwIfAborted();
    note('warn', 'continuing without the report of failed operators', {
      code: asAgentError(error).code,
    });
  }
}
