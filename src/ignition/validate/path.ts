import type { FindingRule } from '../finding.ts';

/** The rule that a path on the target system breaks, if any: absolute, with nothing to simplify. */
export function pathFault(path: string): FindingRule | undefined {
  if (path === '') return 'path-empty';
  if (!path.startsWith('/')) return 'path-relative';
  return path === simplifyPath(path) ? undefined : 'path-not-canonical';
}

/** As {@link pathFault}, where a path may be absent or empty. */
export function optionalPathFault(path: string | undefined): FindingRule | undefined {
  return path === undefined || path === '' ? undefined : pathFault(path);
}

/** A path without empty, `.` and `..` segments, as Go's `path.Clean` gives it. */
export function simplifyPath(path: string): string {
  const isAbsolute = path.startsWith('/');
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    const last = segments.at(-1);
    if (segment !== '..' || (!isAbsolute && (last === undefined || last === '..'))) {
      segments.push(segment);
    } else {
      segments.pop();
    }
  }
  const joined = segments.join('/');
  if (isAbsolute) return `/${joined}`;
  return joined === '' ? '.' : joined;
}

/** The part of a name from its last dot, as Go's `path.Ext`; empty without one. */
export function nameSuffix(name: string): string {
  const base = name.slice(name.lastIndexOf('/') + 1);
  const dot = base.lastIndexOf('.');
  return dot < 0 ? '' : base.slice(dot);
}
