import type { KubeKind, KubeRef, KubeSelection } from '../../src/ports/kube.ts';

/** The path of an object, or of a subresource of it. */
export function pathOfObject({ kind, namespace, name }: KubeRef, subresource?: string): string {
  const object = `${pathOfKind(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? object : `${object}/${subresource}`;
}

/** The path of all objects of a kind, in one namespace where one is given. */
export function pathOfKind({ group, version, plural }: KubeKind, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${plural}`;
}

/** The path of a selection with its query; `more` is added to the query. */
export function pathOfSelection(
  { kind, namespace, labelSelector, fieldSelector }: KubeSelection,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const wanted = Object.entries({ labelSelector, fieldSelector, ...more });
  const given = wanted.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  const path = pathOfKind(kind, namespace);
  return query === '' ? path : `${path}?${query}`;
}
