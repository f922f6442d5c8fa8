import { finding, type Finding, type FindingRule, memberPath } from '../finding.ts';
import type { SpecMinor } from '../version.ts';

/** The place in a config that a validator checks and reports on. */
export class Place {
  readonly path: string;
  /** Rules differ a little from spec to spec. */
  readonly minor: SpecMinor;
  readonly #findings: Finding[];

  constructor(minor: SpecMinor, findings: Finding[], path = '') {
    this.minor = minor;
    this.#findings = findings;
    this.path = path;
  }

  /** The place of a member or of a list's entry. */
  at(...segments: readonly (string | number)[]): Place {
    return new Place(this.minor, this.#findings, memberPath(this.path, ...segments));
  }

  /** Reports a rule that is broken here; no rule is no report. */
  report(rule: FindingRule | undefined, detail = ''): void {
    if (rule !== undefined) this.#findings.push(finding(rule, this.path, detail));
  }
}

/** Checks one value of a type and reports at its place. */
export type Validator<T> = (value: T, place: Place) => void;

/** The rule that a path on the target system breaks, if any: absolute, with nothing to simplify. */
export function pathViolation(path: string): FindingRule | undefined {
  if (path === '') return 'path-empty';
  if (!path.startsWith('/')) return 'path-relative';
  return path === simplifyPath(path) ? undefined : 'path-not-canonical';
}

/** As {@link pathViolation}, where a path may be absent or empty. */
export function optionalPathViolation(path: string | undefined): FindingRule | undefined {
  return path === undefined || path === '' ? undefined : pathViolation(path);
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
