/**
 * The party that can act on a failure. Each kind has one exit code, below 125.
 */
export type FailureKind =
  'input' | 'unsupported' | 'host' | 'remote' | 'media' | 'limit' | 'cluster' | 'bug';

/**
 * Exit code of each kind. 9 was in use once and stays reserved. Codes from 125 on have a meaning
 * for podman and for the inventory service.
 */
export const exitCodes: Readonly<Record<FailureKind, number>> = {
  bug: 1,
  input: 2,
  unsupported: 3,
  host: 4,
  remote: 5,
  media: 6,
  limit: 7,
  cluster: 8,
};

/** Kinds of failure that another attempt cannot fix. */
const finalKinds: ReadonlySet<FailureKind> = new Set(['input', 'unsupported', 'limit', 'bug']);

/** The fixed part of a failure code: who acts, the meaning, and the next action. */
export interface FailureRow {
  readonly kind: FailureKind;
  readonly title: string;
  readonly hint: string;
  /** Another attempt cannot help, although the kind alone would allow one. */
  readonly isFinal?: true;
}

/** Codes of one area (`disk.busy`) with their rows. A code is stable for ever and never reused. */
export type FailureTable = Readonly<Record<string, FailureRow>>;

/** Flat values that help to understand a failure; masked before they are shown. */
export type FailureContext = Readonly<Record<string, string | number | boolean>>;

/** Details of one occurrence of a failure. */
export interface FailureDetails {
  /** Replaces the hint of the row if a more specific one is known. */
  readonly hint?: string | undefined;
  readonly context?: FailureContext;
  readonly cause?: unknown;
}

/** A code with its row. */
export interface CodedRow extends FailureRow {
  readonly code: string;
}

/** The only error class of the product: a stable code, who acts, and the next action. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: string;
  readonly kind: FailureKind;
  readonly hint: string;
  readonly context: FailureContext;
  /** Another attempt cannot help. */
  readonly isFinal: boolean;

  constructor(
    { code, kind, hint, isFinal }: CodedRow,
    message: string,
    details: FailureDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.kind = kind;
    this.isFinal = isFinal === true || finalKinds.has(kind);
    this.hint = details.hint ?? hint;
    this.context = details.context ?? {};
  }
}

/**
 * Makes the function that builds the errors of one area from its table, so that each code has a
 * row. The message is for people: lower case, no final period, the subject first.
 */
export function failuresOf<T extends FailureTable>(
  table: T,
): (code: keyof T & string, message: string, details?: FailureDetails) => AgentError {
  return (code, message, details) => {
    const row: FailureRow | undefined = table[code];
    if (row === undefined) throw new RangeError(`no failure row for ${code}`);
    return new AgentError({ code, ...row }, message, details);
  };
}
