// Effects of a write on an object, as in the API server.
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import type { KubeObject, KubePatch } from '../../src/ports/kube.ts';

/** An object after a patch. @throws AgentError `kube.invalid` */
export function patched(object: KubeObject, { type, body }: KubePatch): KubeObject {
  if (type === 'merge') return merged(object, body) as KubeObject;
  const copy = structuredClone(object) as Record<string, unknown>;
  for (const operation of body as readonly JsonOperation[]) operate(copy, operation);
  return copy as KubeObject;
}

/** Kinds with a status subresource, which is written separately from the rest. */
const withStatus: readonly string[] = [
  ...['nodes', 'pods', 'jobs', 'deployments', 'certificatesigningrequests', 'clusterversions'],
  'services',
  ...['machineconfigpools', 'machineosconfigs', 'machineosbuilds'],
  ...['openshiftcontrolplanes', 'openshiftbootstrapconfigs', 'clusters', 'machines'],
];

/** The object after a write to it, or to its status. */
export function written(
  before: KubeObject,
  next: KubeObject,
  { plural, subresource }: { readonly plural: string; readonly subresource?: string | undefined },
): KubeObject {
  if (!withStatus.includes(plural)) return next;
  const [object, { status }] = subresource === undefined ? [next, before] : [before, next];
  const { status: _, ...rest } = object;
  return { ...rest, metadata: next.metadata, ...(status === undefined ? {} : { status }) };
}

interface JsonOperation {
  readonly op: 'test' | 'remove' | 'replace' | 'add';
  readonly path: string;
  readonly value?: unknown;
}

function operate(object: Record<string, unknown>, { op, path, value }: JsonOperation): void {
  const { holder, last } = placeIn(object, path);
  switch (op) {
    case 'test':
      if (JSON.stringify(holder[last]) !== JSON.stringify(value)) {
        throw kubeFailure('kube.invalid', `testing value ${path} failed`);
      }
      return;
    case 'remove':
      if (Array.isArray(holder)) holder.splice(Number(last), 1);
      else Reflect.deleteProperty(holder, last);
      return;
    case 'add':
    case 'replace':
      if (Array.isArray(holder) && op === 'add') {
        holder.splice(last === '-' ? holder.length : Number(last), 0, value);
      } else holder[last] = value;
  }
}

function placeIn(
  object: Record<string, unknown>,
  path: string,
): { readonly holder: Record<string, unknown>; readonly last: string } {
  const words = path
    .split('/')
    .slice(1)
    .map((word) => word.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = words.pop() ?? '';
  let at: unknown = object;
  for (const word of words) at = (at as Record<string, unknown> | undefined)?.[word];
  if (typeof at !== 'object' || at === null) throw kubeFailure('kube.invalid', `no ${path}`);
  return { holder: at as Record<string, unknown>, last };
}

function merged(base: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof base === 'object' && base !== null && !Array.isArray(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = merged(result[key], value);
  }
  return result;
}

/**
 * The applied part of a manifest: all but the status of a kind with a status subresource, or only
 * the status.
 */
export function brought(
  manifest: KubeObject,
  { plural, subresource }: { readonly plural: string; readonly subresource: string | undefined },
): KubeObject {
  const { status, ...rest } = manifest;
  if (subresource !== 'status') return withStatus.includes(plural) ? rest : manifest;
  return { metadata: manifest.metadata, ...(status === undefined ? {} : { status }) };
}

/**
 * An object after server-side apply: has the fields of the manifest, and no longer the fields that
 * only the previous manifest had. Lists count as one value, which holds for members without a key;
 * conditions have a key, their type.
 */
export function applied(
  object: KubeObject | undefined,
  { before, manifest, others }: Applying,
): KubeObject {
  const said = others.reduce<unknown>((all, one) => merged(all, one.manifest), manifest);
  const next = merged(without(object, { before, now: said }), manifest) as KubeObject;
  const shared = others.flatMap((one) => conditionsOf(one.manifest)).map(({ type }) => type);
  const was = conditionsOf(before).filter(({ type }) => !shared.includes(type));
  const own = conditionsOf(manifest);
  if (was.length + own.length === 0) return next;
  const isMine = ({ type }: Typed): boolean => [...was, ...own].some((one) => one.type === type);
  const conditions = [...conditionsOf(object).filter((one) => !isMine(one)), ...own];
  return { ...next, status: { ...(next['status'] as object), conditions } };
}

interface Typed {
  readonly type?: string;
}

const conditionsOf = (object: KubeObject | undefined): readonly Typed[] =>
  (object?.['status'] as { readonly conditions?: readonly Typed[] } | undefined)?.conditions ?? [];

/** A manager's applied manifest. */
export interface Manifest {
  readonly manager: string;
  readonly manifest: KubeObject;
}

interface Applying {
  readonly manifest: KubeObject;
  /** The last manifest of the same manager. */
  readonly before: KubeObject | undefined;
  readonly others: readonly Manifest[];
}

/**
 * The part of a manifest that its manager still owns: without fields that have another value by
 * now.
 */
export const stillOwned = (manifest: unknown, object: unknown): unknown =>
  isFields(manifest)
    ? Object.fromEntries(
        Object.entries(manifest)
          .filter(([key, member]) => {
            const now = isFields(object) ? object[key] : undefined;
            return isFields(member) || Array.isArray(member) || member === now;
          })
          .map(([key, member]) => [key, stillOwned(member, isFields(object) ? object[key] : {})]),
      )
    : manifest;

function without(
  value: unknown,
  { before, now }: { readonly before: unknown; readonly now: unknown },
): unknown {
  if (!isFields(value) || !isFields(before)) return value;
  const kept = Object.entries(value).filter(
    ([key, member]) => !(key in before) || (isFields(now) && key in now) || isFields(member),
  );
  return Object.fromEntries(
    kept.map(([key, member]) => [
      key,
      without(member, { before: before[key], now: isFields(now) ? now[key] : undefined }),
    ]),
  );
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
