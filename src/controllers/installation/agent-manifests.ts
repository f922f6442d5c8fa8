import * as z from 'zod';
import { configMaps } from '../../kube/kinds.ts';
import {
  clusterVersionRef,
  clusterVersionSnapshot,
  type OlmOperator,
} from '../../cluster/operators.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Watch } from '../../engine/wait.ts';
import { yamlIn } from '../../lib/yaml-text.ts';
import { minutes, seconds, unlimited } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { type Followed, followedOne, together } from '../../steps/cluster/kube-watch.ts';
import {
  followedOlm,
  type OperatorManifest,
  type OperatorSetup,
  decodeManifest,
  setUpOperators,
} from './apply-manifests.ts';
import { NewCluster } from './new-cluster.ts';
import { type ControllerScope, controllerStep } from './step.ts';

type AgentScope = ControllerScope<'kube' | 'adminKube' | 'clock'>;

/** Once the cluster is available, its operators need no longer than that to be initialized. */
const afterAvailable = minutes(30);

/**
 * Applies what the operators of an agent-based installation need, from the ConfigMap that the
 * installer puts into the cluster. It ends when all is applied, when an available cluster has no
 * such ConfigMap, or half an hour after the cluster became available.
 */
export const applyAgentManifests = controllerStep({
  id: 'controller/apply-agent-manifests',
  title: 'Apply the manifests of operators from the agent-based installer',
  uses: ['kube', 'adminKube', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: ({ cluster }) =>
    cluster.isAgentBased ? undefined : 'the service has the manifests of operators',
  limit: unlimited,
  run: async (scope) => {
    const { kube, clock, config, note } = scope;
    const source = followedOne(kube, {
      kind: configMaps,
      namespace: config.namespace,
      name: 'olm-operator-manifests',
    });
    const version = followedOne(kube, clusterVersionRef);
    const watch = together(source.watch, version.watch);
    let availableAt: number | undefined;
    const isLate = (): boolean => {
      const [found] = version.view().objects;
      const isAvailable =
        found !== undefined && clusterVersionSnapshot(found).status === 'available';
      if (isAvailable) availableAt ??= clock.elapsed();
      return availableAt !== undefined && clock.elapsed() - availableAt >= afterAvailable;
    };
    const isNeeded = await waitForManifests(scope, {
      source,
      watch,
      isLate,
      isAvailable: () => availableAt !== undefined,
    });
    if (!isNeeded) return;
    const noted = new Set<string>();
    await setUpOperators(scope, {
      sentence: 'the manifests of every operator are applied',
      olm: followedOlm(kube),
      watch,
      isStopped: isLate,
      setup: () => {
        const { problems, ...setup } = readAgentManifests(source.view().objects[0]);
        for (const problem of problems) {
          if (!noted.has(problem)) note('warn', problem);
          noted.add(problem);
        }
        return problems.length === 0 ? setup : { ...setup, missing: problems.join('; ') };
      },
    });
    if (isLate()) note('warn', 'continuing without all manifests of operators');
  },
});

interface ManifestsWait {
  readonly source: Followed;
  readonly watch: Watch;
  readonly isLate: () => boolean;
  readonly isAvailable: () => boolean;
}

/**
 * Waits for manifests, and for the right to apply them: the service that gives it leaves long
 * before OLM is ready.
 */
function waitForManifests(
  { adminKube, note, signal, until }: AgentScope,
  { source, watch, isLate, isAvailable }: ManifestsWait,
): Promise<boolean> {
  return until(
    'the manifests of operators are known',
    async () => {
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
      const gap = gapIn(view);
      if (found === undefined) {
        if (gap === undefined && isAvailable()) return { done: false };
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
}

const Metadata = z.object({
  namespace: z.string().min(1),
  subscriptionName: z.string().min(1),
  manifests: z.array(z.string()).nullish(),
});

const suffix = '.metadata.yaml';

/**
 * Reads the ConfigMap `olm-operator-manifests`: `OPERATOR.metadata.yaml` names the files of an
 * operator, each of which is a key of it (assisted-service, `internal/operators`). An operator of
 * which something is missing is held back.
 */
export function readAgentManifests(
  configMap: KubeObject | undefined,
): OperatorSetup & { readonly problems: readonly string[] } {
  const data = (configMap?.['data'] ?? {}) as Readonly<Record<string, string>>;
  const operators: OlmOperator[] = [];
  const manifests: OperatorManifest[] = [];
  const problems: string[] = [];
  for (const key of Object.keys(data).toSorted()) {
    if (!key.endsWith(suffix)) continue;
    const name = key.slice(0, -suffix.length);
    const reading = readOperator(name, data);
    if ('problem' in reading) {
      problems.push(`operator ${name}: ${reading.problem}`);
      continue;
    }
    operators.push(reading.operator);
    manifests.push(...reading.manifests);
  }
  return { operators, manifests, problems };
}

type OperatorReading =
  | { readonly problem: string }
  | { readonly operator: OlmOperator; readonly manifests: readonly OperatorManifest[] };

function readOperator(name: string, data: Readonly<Record<string, string>>): OperatorReading {
  const metadata = Metadata.safeParse(yamlIn(data[`${name}${suffix}`] ?? ''));
  if (!metadata.success) return { problem: `${name}${suffix} cannot be read` };
  const { namespace, subscriptionName, manifests: files } = metadata.data;
  const manifests: OperatorManifest[] = [];
  for (const file of files ?? []) {
    const content = Object.hasOwn(data, file) ? data[file] : undefined;
    if (content === undefined) return { problem: `its file ${file} is missing` };
    const reading = decodeManifest(content);
    if ('problem' in reading) return { problem: `its file ${file}: ${reading.problem}` };
    manifests.push(...reading.objects.map((object) => ({ operator: name, object })));
  }
  return { operator: { name, namespace, subscription: subscriptionName }, manifests };
}
