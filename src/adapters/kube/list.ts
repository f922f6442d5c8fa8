import { readUpTo } from '../../lib/read-up-to.ts';
import { ApiError } from './api-error.ts';
import { acceptOf, type ApiServer, selectionPath } from './api-server.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject, KubeSelection } from '../../ports/kube.ts';

/** A whole list with its resourceVersion. */
export interface Listing {
  readonly objects: readonly KubeObject[];
  readonly version: string;
}

/** Maximum objects in one answer. */
const mostInPage = 50;

/**
 * Approximate bytes of each answer after the first: its text is in memory three times while it is
 * read.
 */
const pageBytes = 128 * 1024;

/** Number of objects for the next page, by the size of the last one. */
export const nextPage = (count: number, bytes: number): number =>
  Math.min(mostInPage, Math.max(5, Math.floor((count * pageBytes) / bytes)));

/** Selects the part of an object to keep. */
export type Keep = (object: KubeObject) => KubeObject;

interface Page {
  readonly items?: readonly KubeObject[];
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

/**
 * Lists a selection in pages, all at one resourceVersion.
 * @throws ApiError, worth a list, if the resourceVersion expired between two pages
 */
export async function listAll(
  server: ApiServer,
  { selection, keep }: { readonly selection: KubeSelection; readonly keep: Keep },
  signal: AbortSignal,
): Promise<Listing> {
  const objects: KubeObject[] = [];
  let version = '';
  let next = '';
  const asked = new Set<string>();
  let limit = mostInPage;
  do {
    if (asked.has(next)) throw wrongAnswer('continues a list by a page that it has given');
    asked.add(next);
    const path = selectionPath(selection, { limit, continue: next });
    const request = { method: 'GET', path, ...acceptOf(selection.kind, 'List') } as const;
    const text = await server.ask(request, signal, readText);
    const { items, metadata } = parsed<Page>(text, isPage);
    for (const item of items ?? []) objects.push(keep(item));
    if (version === '') version = metadata?.resourceVersion ?? '';
    next = metadata?.continue ?? '';
    limit = nextPage(items?.length ?? limit, text.length);
  } while (next !== '');
  return { objects, version };
}

/** Worth another attempt after a pause. */
const wrongAnswer = (what: string, cause?: unknown): ApiError =>
  new ApiError(kubeFailure('kube.failed', `an answer of the API server ${what}`, { cause }), {
    isUncertain: true,
  });

/**
 * Parses a body as an object of the cluster. @throws ApiError if it is not one: the answer did not
 * come from the API server
 */
export async function readObject(body: AsyncIterable<Uint8Array>): Promise<KubeObject> {
  return withoutManagedFields(parsed(await readText(body), isObject));
}

/** @throws ApiError for text that is not JSON, or has another form */
export function parsed<T>(text: string, isMeant: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(text);
    if (isMeant(value)) return value as T;
    throw new TypeError('JSON of another shape');
  } catch (error) {
    throw wrongAnswer('is not what was asked for', error);
  }
}

/** Whether a value is an object of a cluster; a bookmark or a Status has no name. */
export function isObject(value: unknown): value is KubeObject {
  const { metadata } = Object(value) as { readonly metadata?: unknown };
  const { name } = Object(metadata) as { readonly name?: unknown };
  const isText = name === undefined || typeof name === 'string';
  return typeof metadata === 'object' && metadata !== null && isText;
}

const isPage = (value: unknown): boolean => {
  const { items } = Object(value) as Page;
  return value !== null && (items == null || (Array.isArray(items) && items.every(isObject)));
};

/**
 * A page has at most 50 objects, of which etcd takes 1.5 MiB each (etcd, `--max-request-bytes`).
 */
const mostBytes = 96 * 1024 ** 2;

/** A body as text. @throws ApiError if it exceeds the size of any answer */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const bytes = await readUpTo(body, mostBytes);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw wrongAnswer(`is longer than ${mostBytes / 1024 ** 2} MiB`);
}

/**
 * The object without the record of field owners: it takes a third of a node's bytes, and no code
 * reads it. The API server keeps the record if an update leaves it out (Kubernetes' documentation,
 * "Server-Side Apply", clearing managedFields).
 */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (!('managedFields' in object.metadata)) return object;
  // Deleting a member would make V8 store the others in a hash table of five times the size.
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
