import { lintContainerfile } from './containerfile/lint.ts';
import { isKeyword } from './containerfile/parse.ts';
import { kindFlaw, readMachineOSConfig, segmentsOf } from './os-config/read.ts';
import { machineOSConfigKind } from './os-config/schema.ts';
import { objectionsTo } from './os-config/semantics.ts';
import { unknownFindings } from './os-config/unknown.ts';
import { everyFault } from './schema/check-object.ts';
import { type Fault, faultText } from './schema/fault.ts';
import { isMembers, type Value } from './schema/schema.ts';
import { isFlaw, type SourceFlaw } from './source-flaw.ts';
import { readListed } from './source-list.ts';
import type { SourceObject } from './source-object.ts';
import { decodeSource, type SourceFile } from './source-text.ts';

/** What is wrong at one place of a file. */
export interface LintFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly severity: 'error' | 'warning';
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

const WANTED = 'a MachineOSConfig or a Containerfile';

/** What is wrong with a file as it lies on a disk, whatever is in it. */
export function lintBytes(path: string, bytes: Uint8Array): readonly LintFinding[] {
  const read = decodeSource(path, bytes, WANTED);
  return isFlaw(read) ? [flawFinding(read)] : lintFile(read);
}

/**
 * What is wrong with a file: with each MachineOSConfig of it, or, where it is no YAML or JSON of objects, with the
 * Containerfile that it then is.
 */
export function lintFile(file: SourceFile): readonly LintFinding[] {
  if (looksLikeContainerfile(file))
    return containerfileFindings(file.text, (line) => `${file.path}:${line}`);
  const read = readListed(file, WANTED);
  if (read.length > 0) {
    return read.flatMap((one) => (isFlaw(one) ? [flawFinding(one)] : lintObject(one)));
  }
  const message = `${WANTED} is expected, and the file is empty`;
  return [{ place: `${file.path}:1`, severity: 'error', message }];
}

/** An instruction comes first, behind comments; no key of an object is followed by blanks and a word. */
function looksLikeContainerfile({ path, text }: SourceFile): boolean {
  if (/(?:^|[/.])(?:Container|Docker)file(?:\.[^/]*)?$/i.test(path)) return true;
  if (/\.(?:ya?ml|json)$/i.test(path)) return false;
  const first = text.split('\n').find((line) => !/^\s*(?:#|$)/.test(line)) ?? '';
  return /^\s*[A-Za-z]+\s+[^\s:]/.test(first) || isKeyword(first.trim());
}

/** What is wrong with an object that should be a MachineOSConfig. */
export function lintObject(source: SourceObject): readonly LintFinding[] {
  const otherwise = kindFlaw(source);
  if (otherwise !== undefined) return [flawFinding(otherwise)];
  const { value, place } = source;
  const faults = everyFault(value, machineOSConfigKind);
  const refused = faults.map((one) => ({
    place: place(segmentsOf(one.path)),
    severity: 'error' as const,
    message: `${faultText(one)}${advice(one)}`,
  }));
  const unknown = unknownFindings(source).map((one) => ({
    place: one.place,
    severity: 'error' as const,
    message: one.message,
  }));
  return [
    ...unknown,
    ...refused,
    ...objections(source, refused.length === 0),
    ...containerfiles(source),
  ];
}

const flawFinding = ({ place, problem }: SourceFlaw): LintFinding => ({
  place,
  severity: 'error',
  message: problem,
});

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
    // Without a text the image is that of the pool's MachineConfig.
    if (typeof content !== 'string' || content.trim() === '') return [];
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
