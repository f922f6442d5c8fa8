import type { KubeKind, KubeRef, KubeSelection } from '../../ports/kube.ts';

/** Path of all objects of a kind, in a namespace or in the cluster. */
export function collectionPath({ group, version, plural }: KubeKind, namespace?: string): string {
  const api = group === '' ? `/api/${part(version)}` : `/apis/${part(group)}/${part(version)}`;
  const place = namespace === undefined ? '' : `/namespaces/${part(namespace)}`;
  return `${api}${place}/${part(plural)}`;
}

/** Path of one object, or of a subresource of it. */
export function objectPath({ kind, namespace, name }: KubeRef, subresource?: string): string {
  const object = `${collectionPath(kind, namespace)}/${part(name)}`;
  return subresource === undefined ? object : `${object}/${part(subresource)}`;
}

/** What a list or a watch asks for beside the selection; empty values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** Path of a selection with its selectors and what else is asked. */
export function selectionPath(
  { kind, namespace, labelSelector, fieldSelector }: KubeSelection,
  more: Query = {},
): string {
  return withQuery(collectionPath(kind, namespace), { labelSelector, fieldSelector, ...more });
}

/** A path with a query. */
export function withQuery(path: string, query: Query): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  return text === '' ? path : `${path}?${text}`;
}

const part = encodeURIComponent;
