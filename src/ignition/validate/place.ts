import { finding, memberPath, type Finding, type FindingRule } from '../finding.ts';
import type { SpecMinor } from '../version.ts';

/** Where a validator stands: it reports what is wrong there. */
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
