/** What is wrong with an object that a user gives, and where. */
export interface InputFinding {
  /** Name of the Secret; empty for an object that is none. */
  readonly secret: string;
  /** Key of the Secret, which is the name of a file. */
  readonly file?: string;
  /** From 1, both. */
  readonly line?: number;
  readonly column?: number;
  /** What is wrong, and what to write instead. Content is never quoted: it may be secret. */
  readonly why: string;
  /** It is taken all the same. */
  readonly isWarning?: true;
  /** Something is there twice. */
  readonly isDuplicate?: true;
}

/** The findings for a condition: the first of them, and how many more there are. */
export function findingsLine(findings: readonly InputFinding[]): string {
  const more = findings.length > mostShown ? `; and ${findings.length - mostShown} more` : '';
  return `${findings.slice(0, mostShown).map(findingInSecret).join('; ')}${more}`;
}

const mostShown = 5;

/** `data[FILE]:LINE:COLUMN: WHY`, as the API server shows it. */
export function findingText({ file, line, column, why }: InputFinding): string {
  if (file === undefined) return why;
  return `data[${file}]${line === undefined ? '' : `:${line}:${column ?? 1}`}: ${why}`;
}

/** `SECRET/FILE:LINE:COLUMN: WHY`, for whoever has several Secrets before them. */
export function findingInSecret({ secret, file, line, column, why }: InputFinding): string {
  const place = [file === undefined ? secret : `${secret}/${file}`];
  if (line !== undefined) place.push(String(line), String(column ?? 1));
  return `${place.join(':')}: ${why}`;
}

/** A place as layering writes it, `FILE:LINE:COLUMN`, and what is wrong there, as a finding of a Secret. */
export function findingAt(
  { secret, file }: { readonly secret: string; readonly file: string },
  place: string,
  why: string,
): InputFinding {
  const [, line = '1', column = '1'] = /:(\d+)(?::(\d+))?$/.exec(place.slice(file.length)) ?? [];
  return { secret, file, line: Number(line), column: Number(column), why };
}
