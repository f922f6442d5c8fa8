import * as z from 'zod';
import { clusterServiceVersions, installPlans, jobs, subscriptions } from '../../kube/kinds.ts';
import {
  csvOf,
  type FailedSetup,
  failedSetup,
  type OlmObjects,
  type OlmOperator,
} from '../../cluster/operators.ts';
import { isSourceFinding, readDocuments } from '../../layering/api/source-object.ts';
import { jsonIn } from '../../lib/json.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { followed, gapAmong, combineWatches } from '../../steps/cluster/kube-watch.ts';
import { allOf, type RepeatedWork, type StepScope, untilDone } from './scope.ts';

/** A manifest that an operator needs beside its subscription. */
export interface OperatorManifest {
  readonly operator: string;
  readonly object: KubeObject;
}

const Manifest = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().min(1) }),
});

/**
 * The objects of a manifest, YAML documents in base64 as `oc apply` reads them, or the reason why
 * it is skipped.
 */
export function decodeManifest(
  base64: string,
): { readonly objects: readonly KubeObject[] } | { readonly problem: string } {
  const encoded = base64.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return { problem: 'it is not base64' };
  const objects: KubeObject[] = [];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  for (const document of readDocuments({ path: '', text })) {
    if (isSourceFinding(document)) return { problem: document.message };
    const object = Manifest.safeParse(document.value);
    if (!object.success) return { problem: 'an object has no apiVersion, kind or name' };
    objects.push(object.data);
  }
  return { objects };
}

const CustomManifests = z.array(z.record(z.string(), z.unknown())).nullable();

/**
 * Reads the manifests that the service keeps for operators: a JSON list of `Name` and `Content` in
 * base64, with keys in any case (assisted-service, `custom_manifests.json`). Undefined for any
 * other text. The problems are the reasons for skipped ones.
 */
export function readCustomManifests(text: string) {
  const list = CustomManifests.safeParse(jsonIn(text));
  if (!list.success) return undefined;
  const manifests: OperatorManifest[] = [];
  const problems: string[] = [];
  for (const entry of list.data ?? []) {
    const members = new Map(
      Object.entries(entry).map(([key, value]) => [key.toLowerCase(), value]),
    );
    const [name, content] = [members.get('name'), members.get('content')];
    if (typeof name !== 'string' || typeof content !== 'string') {
      problems.push('a manifest has no name or no content');
      continue;
    }
    const reading = decodeManifest(content);
    if ('problem' in reading) problems.push(`a manifest of operator ${name}: ${reading.problem}`);
    else manifests.push(...reading.objects.map((object) => ({ operator: name, object })));
  }
  return { manifests, problems };
}

/**
 * Follows the operators that OLM installs. It ignores the copies of a CSV, which OLM makes in each
 * namespace; its jobs are those that unpack bundles.
 */
export function followedOlm(kube: Kube) {
  const subscribed = followed(kube, { kind: subscriptions });
  const csvs = followed(kube, { kind: clusterServiceVersions, labelSelector: '!olm.copiedFrom' });
  const plans = followed(kube, { kind: installPlans });
  const unpacking = followed(kube, { kind: jobs, namespace: 'openshift-marketplace' });
  return {
    watch: combineWatches(subscribed.watch, csvs.watch, plans.watch, unpacking.watch),
    objects: (): OlmObjects => ({
      subscriptions: subscribed.view().objects,
      csvs: csvs.view().objects,
      installPlans: plans.view().objects,
      jobs: unpacking.view().objects,
    }),
    /** The reason why they may be incomplete. */
    gap: () => gapAmong(subscribed, csvs),
  };
}

/** Operators that OLM has to install, with their manifests. */
export interface OperatorSetup {
  readonly operators: readonly OlmOperator[];
  /** The manifests of one operator are in the order of their application. */
  readonly manifests: readonly OperatorManifest[];
  /** A text about missing manifests. */
  readonly missing?: string;
}

/** A manifest with other content gets another key. */
const manifestKey = ({ operator, object }: OperatorManifest): string =>
  `${operator} ${JSON.stringify(object)}`;

/**
 * Waits until OLM has initialized each operator, and then applies its manifests. The manifests of
 * one operator are applied in their order; a failed operator does not delay the others. The rights
 * are an administrator's, because no role can list the kinds that configure operators of other
 * projects.
 * @param setup returns the known operators at each poll
 */
export async function setUpOperators(
  scope: StepScope,
  olm: ReturnType<typeof followedOlm>,
  setup: () => OperatorSetup,
  { sentence, watch, isOver }: Pick<RepeatedWork<undefined>, 'sentence' | 'watch' | 'isOver'>,
): Promise<void> {
  const { kube, adminKube, note } = scope;
  /** Keys of the applied manifests. */
  const applied = new Set<string>();
  /** Kinds that must not be deleted. */
  const denied = new Set<string>();
  const remove = async (failed: FailedSetup, signal: AbortSignal): Promise<void> => {
    const { kind, name } = failed;
    try {
      // Deleted by its uid: a new object of its name stays.
      await kube.remove(failed, signal);
      note('info', `removed ${kind.plural} ${name}, which had failed`);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      denied.add(kind.plural);
      note('warn', `may not remove failed ${kind.plural}`, { code: error.code });
    }
  };
  const applyEach = async (due: readonly OperatorManifest[], signal: AbortSignal) => {
    const failures: unknown[] = [];
    for (const manifest of due) {
      const { kind = '', metadata } = manifest.object;
      try {
        await adminKube.apply(manifest.object, signal);
        applied.add(manifestKey(manifest));
        note('info', `applied ${kind} ${metadata.name} of ${manifest.operator}`);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  await untilDone(scope, {
    sentence,
    watch: watch === undefined ? olm.watch : combineWatches(watch, olm.watch),
    isOver,
    work: async (signal) => {
      const { operators, manifests, missing } = setup();
      const objects = olm.objects();
      const gap = olm.gap();
      const bare = operators.filter((operator) => csvOf(operator, objects) === undefined);
      const failed = bare.length === 0 ? [] : failedSetup(bare, objects);
      const due = operators
        .filter((operator) => !bare.includes(operator))
        .map(({ name }) =>
          manifests.filter((one) => one.operator === name && !applied.has(manifestKey(one))),
        );
      await allOf([
        ...failed.flatMap((one) => (denied.has(one.kind.plural) ? [] : [remove(one, signal)])),
        ...due.map((list) => applyEach(list, signal)),
      ]);
      const status = [
        missing,
        bare.length === 0 ? undefined : gap,
        ...bare.map(({ name }) => `operator ${name} has no CSV yet`),
      ].filter((one) => one !== undefined);
      return status.length === 0 ? { done: undefined } : { status: status.join('; ') };
    },
  });
}
