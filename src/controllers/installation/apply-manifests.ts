import * as z from 'zod';
import { clusterServiceVersions, installPlans, jobs, subscriptions } from '../../kube/kinds.ts';
import {
  csvOf,
  type FailedSetup,
  failedSetup,
  type OlmObjects,
  type OlmOperator,
} from '../../cluster/operators.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Watch } from '../../engine/wait.ts';
import { jsonIn } from '../../lib/json.ts';
import { parseYamlStream } from '../../lib/yaml-text.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { followed, gapAmong, together } from '../../steps/cluster/kube-watch.ts';
import { allOf, type ControllerScope, untilDone } from './step.ts';

/** What an operator needs beside its subscription. */
export interface OperatorManifest {
  readonly operator: string;
  readonly object: KubeObject;
}

/** The objects of a manifest, or why it is left out. */
export type ManifestReading =
  { readonly objects: readonly KubeObject[] } | { readonly problem: string };

const Manifest = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().min(1) }),
});

/** Reads a manifest: YAML documents in base64. */
export function decodeManifest(base64: string): ManifestReading {
  const encoded = base64.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return { problem: 'it is not base64' };
  const objects: KubeObject[] = [];
  for (const document of parseYamlStream(Buffer.from(encoded, 'base64').toString('utf8'))) {
    const [error] = document.errors;
    if (error !== undefined) return { problem: error.message };
    const content: unknown = document.toJS();
    if (content === null || content === undefined) continue;
    const object = Manifest.safeParse(content);
    if (!object.success) return { problem: 'an object has no apiVersion, kind or name' };
    objects.push(object.data);
  }
  return { objects };
}

/** Manifests of operators, and why some are left out. */
interface ManifestsReading {
  readonly manifests: readonly OperatorManifest[];
  readonly problems: readonly string[];
}

const CustomManifests = z.array(z.record(z.string(), z.unknown())).nullable();

/**
 * Reads the manifests that the service keeps for operators: a JSON list of `Name` and `Content` in
 * base64, whose names may be written in any case (assisted-service, `custom_manifests.json`).
 * Undefined for what is no such list.
 */
export function readCustomManifests(text: string): ManifestsReading | undefined {
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

/** Objects of OLM that a wait follows. */
export interface FollowedOlm {
  readonly watch: Watch;
  readonly objects: () => OlmObjects;
  /** Why they may be incomplete. */
  readonly gap: () => string | undefined;
}

/**
 * Follows the operators that OLM installs. The copies of a CSV, one in each namespace, are of no
 * interest; jobs are those that unpack its bundles.
 */
export function followedOlm(kube: Kube): FollowedOlm {
  const subscribed = followed(kube, { kind: subscriptions });
  const csvs = followed(kube, { kind: clusterServiceVersions, labelSelector: '!olm.copiedFrom' });
  const plans = followed(kube, { kind: installPlans });
  const unpacking = followed(kube, { kind: jobs, namespace: 'openshift-marketplace' });
  return {
    watch: together(subscribed.watch, csvs.watch, plans.watch, unpacking.watch),
    objects: () => ({
      subscriptions: subscribed.view().objects,
      csvs: csvs.view().objects,
      installPlans: plans.view().objects,
      jobs: unpacking.view().objects,
    }),
    gap: () => gapAmong(subscribed, csvs),
  };
}

/** Operators that OLM is to install, with what is to be applied to them. */
export interface OperatorSetup {
  readonly operators: readonly OlmOperator[];
  /** In the order in which those of one operator are applied. */
  readonly manifests: readonly OperatorManifest[];
  /** What is missing beside them. */
  readonly missing?: string;
}

/** A wait for operators that are set up. */
export interface SetupWait {
  readonly sentence: string;
  readonly olm: FollowedOlm;
  readonly setup: () => OperatorSetup;
  /** What else notifies. */
  readonly watch: Watch;
  /** The wait ends although something is missing. */
  readonly isStopped: () => boolean;
}

interface Observed extends OperatorSetup {
  readonly isStopped: boolean;
  readonly objects: OlmObjects;
  readonly gap: string | undefined;
  /** Manifests that took effect, as `manifestKey` names them. */
  readonly applied: ReadonlySet<string>;
  /** Kinds that we may not remove. */
  readonly denied: ReadonlySet<string>;
}

type SetupAction =
  /** What has failed is removed by its uid: what took its name meanwhile stays. */
  | { readonly type: 'remove'; readonly failed: FailedSetup }
  | {
      readonly type: 'apply';
      readonly operator: string;
      readonly due: readonly OperatorManifest[];
    };

/** The same manifest with another content is another one. */
const manifestKey = ({ operator, object }: OperatorManifest): string =>
  `${operator} ${JSON.stringify(object)}`;

/**
 * Waits until OLM has initialized each operator, and applies its manifests then. Those of one
 * operator are applied in their order; one that fails keeps no other waiting. The rights to apply
 * are those of an administrator: no role names what operators of others are configured by.
 */
export async function setUpOperators(
  scope: ControllerScope<'kube' | 'adminKube' | 'clock'>,
  { sentence, olm, setup, watch, isStopped }: SetupWait,
): Promise<void> {
  const { kube, adminKube, note } = scope;
  const applied = new Set<string>();
  const denied = new Set<string>();
  const observe = (): Observed => ({
    ...setup(),
    isStopped: isStopped(),
    objects: olm.objects(),
    gap: olm.gap(),
    applied,
    denied,
  });
  const remove = async (failed: FailedSetup, signal: AbortSignal): Promise<void> => {
    const { kind, name } = failed;
    try {
      await kube.remove(failed, signal);
      note('info', `removed ${kind.plural} ${name}, which had failed`);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      denied.add(kind.plural);
      note('warn', `may not remove failed ${kind.plural}`, { code: error.code });
    }
  };
  await untilDone(scope, {
    sentence,
    watch: together(watch, olm.watch),
    isOver: isStopped,
    work: async (signal) => {
      await allOf(
        setupDue(observe()).map((action) =>
          action.type === 'remove'
            ? remove(action.failed, signal)
            : applyEach({ adminKube, note }, { due: action.due, applied }, signal),
        ),
      );
      const missing = missingSetup(observe());
      return missing.length === 0 ? { done: undefined } : { status: missing.join('; ') };
    },
  });
}

/** @throws the first failure, after all manifests were tried */
async function applyEach(
  { adminKube, note }: Pick<ControllerScope<'adminKube'>, 'adminKube' | 'note'>,
  { due, applied }: { readonly due: readonly OperatorManifest[]; readonly applied: Set<string> },
  signal: AbortSignal,
): Promise<void> {
  let failure: AgentError | undefined;
  for (const manifest of due) {
    const { kind = '', metadata } = manifest.object;
    try {
      await adminKube.apply(manifest.object, signal);
      applied.add(manifestKey(manifest));
      note('info', `applied ${kind} ${metadata.name} of ${manifest.operator}`);
    } catch (error) {
      signal.throwIfAborted();
      failure ??= asAgentError(error);
    }
  }
  if (failure !== undefined) throw failure;
}

const bareOf = ({ operators, objects }: Observed): readonly OlmOperator[] =>
  operators.filter((operator) => csvOf(operator, objects) === undefined);

/** What is to be removed and applied now. */
export function setupDue(observed: Observed): readonly SetupAction[] {
  const { isStopped, operators, manifests, objects, applied, denied } = observed;
  if (isStopped) return [];
  const bare = bareOf(observed);
  const failures = bare.length === 0 ? [] : failedSetup(bare, objects);
  const removals = failures
    .filter(({ kind }) => !denied.has(kind.plural))
    .map((failed): SetupAction => ({ type: 'remove', failed }));
  const ready = operators.filter((operator) => !bare.includes(operator));
  const manifestsDue = ready.flatMap(({ name: operator }): readonly SetupAction[] => {
    const due = manifests.filter(
      (one) => one.operator === operator && !applied.has(manifestKey(one)),
    );
    return due.length === 0 ? [] : [{ type: 'apply', operator, due }];
  });
  return [...removals, ...manifestsDue];
}

/** What is not set up yet. */
export function missingSetup(observed: Observed): readonly string[] {
  const bare = bareOf(observed);
  return [
    observed.missing,
    bare.length === 0 ? undefined : observed.gap,
    ...bare.map(({ name }) => `operator ${name} has no CSV yet`),
    ...setupDue(observed).flatMap((action) =>
      action.type === 'apply' ? [`manifests of operator ${action.operator} are not applied`] : [],
    ),
  ].filter((one) => one !== undefined);
}
