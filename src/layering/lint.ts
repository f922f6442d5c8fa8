import { lintContainerfile } from './containerfile/lint.ts';
import { readMachineOSConfig, requireMachineOSConfig, segmentsOf } from './os-config/read.ts';
import { machineOSConfigKind } from './os-config/schema.ts';
import { objectionsTo } from './os-config/semantics.ts';
import { everyFault } from './schema/check-object.ts';
import { type Fault, faultText } from './schema/fault.ts';
import { isMembers, type Value } from './schema/schema.ts';
import { readObjects, type SourceFile, type SourceObject } from './source-object.ts';

/** What is wrong at one place of a file. */
export interface LintFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly severity: 'error' | 'warning';
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/**
 * What is wrong with a file: with each MachineOSConfig of it, or, where it is no YAML or JSON of objects, with the
 * Containerfile that it then is.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function lintFile(file: SourceFile): readonly LintFinding[] {
  if (looksLikeContainerfile(file))
    return containerfileFindings(file.text, (line) => `${file.path}:${line}`);
  return readObjects(file).flatMap(lintObject);
}

/** An instruction comes first, behind comments; no key of an object is followed by blanks and a word. */
function looksLikeContainerfile({ path, text }: SourceFile): boolean {
  if (/(?:^|[/.])(?:Container|Docker)file(?:\.[^/]*)?$/i.test(path)) return true;
  const first = text.split('\n').find((line) => !/^\s*(?:#|$)/.test(line)) ?? '';
  return /^\s*[A-Za-z]+\s+[^\s:]/.test(first) && !/\.(?:ya?ml|json)$/i.test(path);
}

function lintObject(source: SourceObject): readonly LintFinding[] {
  requireMachineOSConfig(source);
  const { value, place } = source;
  const faults = everyFault(value, machineOSConfigKind);
  const refused = faults.map((one) => ({
    place: place(segmentsOf(one.path)),
    severity: 'error' as const,
    message: `${faultText(one)}${advice(one)}`,
  }));
  return [...refused, ...objections(source, refused.length === 0), ...containerfiles(source)];
}

/** What only the operator objects to is known once the object is one. */
function objections(source: SourceObject, isAccepted: boolean): readonly LintFinding[] {
  if (!isAccepted) return [];
  return objectionsTo(readMachineOSConfig(source)).map(({ path, message, isWarning }) => ({
    place: source.place(segmentsOf(path)),
    severity: isWarning ? 'warning' : 'error',
    message: `${path}: ${message}`,
  }));
}

function containerfiles({ value, placeInText }: SourceObject): readonly LintFinding[] {
  const spec = value['spec'];
  const files: Value | undefined = isMembers(spec) ? spec['containerFile'] : undefined;
  if (!Array.isArray(files)) return [];
  return (files as readonly Value[]).flatMap((file, index) => {
    const content = isMembers(file) ? file['content'] : undefined;
    if (typeof content !== 'string') return [];
    const path = `spec.containerFile[${index}].content`;
    return containerfileFindings(content, (line) => placeInText(segmentsOf(path), line));
  });
}

function containerfileFindings(
  content: string,
  at: (line: number) => string,
): readonly LintFinding[] {
  return lintContainerfile(content).map(({ rule, severity, line, message }) => ({
    place: at(line),
    severity,
    message: `${message} [${rule}]`,
  }));
}

/** What to write, where the server's words do not tell. */
function advice({ path, message }: Fault): string {
  if (message === 'Required value') return `: write ${path}`;
  if (message.startsWith('Duplicate value')) return ': keep one entry, for NoArch';
  if (path === '') return ': write the name of the pool in both';
  if (path === 'spec.renderedImagePushSpec') {
    return ' Write HOST.DOMAIN[:PORT]/NAMESPACE/NAME:TAG';
  }
  return '';
}
