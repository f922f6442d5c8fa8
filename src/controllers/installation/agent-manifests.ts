import * as z from 'zod';
import { configMaps } from '../../kube/kinds.ts';
import {
  clusterVersionRef,
  clusterVersionSnapshot,
  type OlmOperator,
} from '../../cluster/operators.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { textsIn } from '../../lib/fields.ts';
import { yamlIn } from '../../lib/yaml-text.ts';
import { minutes, seconds, unlimited } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { followedOne, combineWatches } from '../../steps/cluster/kube-watch.ts';
import {
  followedOlm,
  decodeManifest,
  type OperatorManifest,
  type OperatorSetup,
  setUpOperators,
} from './apply-manifests.ts';
import type { StepScope } from './scope.ts';

/** The longest time in which the operators of an available cluster are initialized. */
const afterAvailable = minutes(30);

/**
 * Applies the manifests of the operators of an agent-based installation, from the ConfigMap that
 * the installer creates in the cluster. It ends when all are applied, when an available cluster has
 * no such ConfigMap, or half an hour after the cluster became available. It gets the rights to
 * apply first: the service that grants them leaves long before OLM is ready.
 */
export async function applyAgentManifests(scope: StepScope): Promise<void> {
  const { kube, adminKube, clock, config, note, signal, until } = scope;
  const source = followedOne(kube, {
    kind: configMaps,
    namespace: config.namespace,
    name: 'olm-operator-manifests',
  });
  const version = followedOne(kube, clusterVersionRef);
  const watch = combineWatches(source.watch, version.watch);
  let availableAt: number | undefined;
  const isLate = (): boolean => {
    const [found] = version.view().objects;
    const isAvailable = found !== undefined && clusterVersionSnapshot(found).status === 'available';
    if (isAvailable) availableAt ??= clock.elapsed();
    return availableAt !== undefined && clock.elapsed() - availableAt >= afterAvailable;
  };
  const isNeeded = await until(
    'the manifests of operators are known',
    async (): Promise<PollResult<boolean>> => {
      if (isLate()) {
        note('warn', 'continuing without the manifests of operators');
        return { done: false };
      }
      const view = source.view();
      if (isForbidden(view.lastError)) {
        note('warn', 'may not read the manifests of operators', { code: view.lastError.code });
        return { done: false };
      }
      const [found] = view.objects;
      if (found === undefined) {
        const gap = gapIn(view);
        if (gap === undefined && availableAt !== undefined) return { done: false };
        return { status: gap ?? 'the cluster has no manifests of operators yet' };
      }
      const { operators, problems } = readAgentManifests(found);
      if (operators.length === 0 && problems.length === 0) return { done: false };
      try {
        await adminKube.get(clusterVersionRef, signal);
        return { done: true };
      } catch (error) {
        signal.throwIfAborted();
        return { status: `there are no rights to apply them yet (${asAgentError(error).code})` };
      }
    },
    { watch, every: seconds(30), within: unlimited },
  );
  if (!isNeeded) return;
  const noted = new Set<string>();
  const setup = (): OperatorSetup => {
    const { problems, ...found } = readAgentManifests(source.view().objects[0]);
    for (const problem of problems) {
      if (!noted.has(problem)) note('warn', problem);
      noted.add(problem);
    }
    return problems.length === 0 ? found : { ...found, missing: problems.join('; ') };
  };
  const sentence = 'the manifests of every operator are applied';
  await setUpOperators(scope, followedOlm(kube), setup, { sentence, watch, isOver: isLate });
  if (isLate()) note('warn', 'continuing without all manifests of operators');
}

const Metadata = z.object({
  namespace: z.string().min(1),
  subscriptionName: z.string().min(1),
  manifests: z.array(z.string()).nullish(),
});

const suffix = '.metadata.yaml';

/**
 * Reads the ConfigMap `olm-operator-manifests`: `OPERATOR.metadata.yaml` names the files of an
 * operator, each of which is a key of it (assisted-service, `internal/operators`). An operator with
 * a missing file is held back.
 */
export function readAgentManifests(
  configMap: KubeObject | undefined,
): OperatorSetup & { readonly problems: readonly string[] } {
  const data = textsIn(configMap?.['data']);
  const operators: OlmOperator[] = [];
  const manifests: OperatorManifest[] = [];
  const problems: string[] = [];
  for (const key of Object.keys(data).toSorted()) {
    if (!key.endsWith(suffix)) continue;
    const name = key.slice(0, -suffix.length);
    const metadata = Metadata.safeParse(yamlIn(data[key] ?? ''));
    if (!metadata.success) {
      problems.push(`operator ${name}: ${key} cannot be read`);
      continue;
    }
    const { namespace, subscriptionName, manifests: files } = metadata.data;
    const own: OperatorManifest[] = [];
    const problem = (files ?? []).map((file) => readFile(data, file, name, own)).find(Boolean);
    if (problem !== undefined) {
      problems.push(`operator ${name}: ${problem}`);
      continue;
    }
    operators.push({ name, namespace, subscription: subscriptionName });
    manifests.push(...own);
  }
  return { operators, manifests, problems };
}

/** Reads a file of an operator into its manifests; returns the problem of an unreadable file. */
function readFile(
  data: Readonly<Record<string, string>>,
  file: string,
  operator: string,
  manifests: OperatorManifest[],
): string | undefined {
  const content = Object.hasOwn(data, file) ? data[file] : undefined;
  if (content === undefined) return `its file ${file} is missing`;
  const reading = decodeManifest(content);
  if ('problem' in reading) return `its file ${file}: ${reading.problem}`;
  for (const object of reading.objects) manifests.push({ operator, object });
  return undefined;
}
