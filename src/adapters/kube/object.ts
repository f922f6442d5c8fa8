import type { KubeObject } from '../../ports/kube.ts';

/**
 * The object without the record of who wrote which field: a third of a node's bytes, read by
 * nobody here. The API server keeps it where an update leaves it out (Kubernetes' documentation,
 * "Server-Side Apply", clearing managedFields).
 */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (!('managedFields' in object.metadata)) return object;
  const metadata: KubeObject['metadata'] & { managedFields?: unknown } = { ...object.metadata };
  delete metadata.managedFields;
  return { ...object, metadata };
}

/**
 * Whether a stored object holds all that was sent: then it is what a create whose answer was lost
 * has left. The server adds members, in the elements of lists too, but takes none away. A secret
 * sent as `stringData` is stored as `data` and so is never known again.
 */
export function holds(stored: unknown, sent: unknown): boolean {
  if (Array.isArray(sent)) {
    const others: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return (
      others.length === sent.length &&
      sent.every((value: unknown, index) => holds(others[index], value))
    );
  }
  if (typeof sent === 'object' && sent !== null) {
    if (typeof stored !== 'object' || stored === null) return Object.keys(sent).length === 0;
    return Object.entries(sent).every(([key, value]) =>
      holds((stored as Readonly<Record<string, unknown>>)[key], value),
    );
  }
  // Empty values are often not stored at all.
  return stored === sent || (stored === undefined && (sent === null || sent === ''));
}
