// What is read in objects around layering, by those who play the cluster and by those who judge it.
import type { KubeObject } from '../../../src/ports/kube.ts';

const group = 'machineconfiguration.openshift.io';

/** A member of an object, however deep; undefined where there is none. */
export function partAt(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null
        ? (part as Readonly<Record<string, unknown>>)[key]
        : undefined,
    object,
  );
}

/** A text in an object; empty where there is none. */
export function textIn(object: unknown, ...path: readonly string[]): string {
  const part = partAt(object, ...path);
  return typeof part === 'string' ? part : '';
}

/** An annotation of the Machine Config Operator, by its name without the group; empty without it. */
export const annotation = (object: KubeObject | undefined, name: string): string =>
  object?.metadata.annotations?.[`${group}/${name}`] ?? '';

/** The whole name of an annotation or label of the Machine Config Operator. */
export const keyOf = (name: string): string => `${group}/${name}`;

/** Whether a node has a role, or is one of the pool of that name. */
export const hasRole = ({ metadata: { labels } }: KubeObject, role: string): boolean =>
  labels?.[`node-role.kubernetes.io/${role}`] !== undefined;

/** The image that a MachineOSConfig says its pool runs. */
export const imageOf = (osConfig: KubeObject | undefined): string =>
  textIn(osConfig, 'status', 'currentImagePullSpec');

/** The status of a condition: `True`, `False`, or empty. */
export function conditionIn(object: KubeObject | undefined, type: string): string {
  const conditions = partAt(object, 'status', 'conditions');
  const found: unknown = Array.isArray(conditions)
    ? conditions.find((one: unknown) => textIn(one, 'type') === type)
    : undefined;
  return textIn(found, 'status');
}
