import { isNamedReference } from '../../lib/image-name.ts';
import { AgentError } from '../../model/failure.ts';
import { type FieldError, fieldErrors, fieldErrorText } from '../api/check-object.ts';
import {
  type OSConfigFinding,
  osConfigFindings,
  unknownFindings,
} from '../api/os-config-findings.ts';
import {
  kindFinding,
  type MachineOSConfig,
  readMachineOSConfig,
  segmentsOf,
} from '../api/os-config.ts';
import { fieldsOf, listOf, textOf } from '../api/schema.ts';
import { lintContainerfile } from '../containerfile/lint.ts';
import { isKeyword } from '../containerfile/parse.ts';
import { layeringFailure } from '../failures.ts';
import { readListed, type SourceObject } from '../api/source-object.ts';
import {
  decodeSource,
  isSourceFinding,
  type SourceFile,
  type SourceFinding,
} from '../api/source-text.ts';

/** What is wrong at one place of a file. */
export interface LintFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly severity: 'error' | 'warning';
  /** The rule that it breaks, of Containerfiles or of MachineConfigs. */
  readonly rule?: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

const WANTED = 'a MachineOSConfig or a Containerfile';

/** The findings of a file of any content. */
export function lintBytes(path: string, bytes: Uint8Array): readonly LintFinding[] {
  const read = decodeSource(path, bytes, WANTED);
  return isSourceFinding(read) ? [lintFindingOf(read)] : lintFile(read);
}

/**
 * The findings of a file: of each MachineOSConfig in it or, where it holds no objects in YAML or
 * JSON, of the Containerfile that it then is.
 */
export function lintFile(file: SourceFile): readonly LintFinding[] {
  if (looksLikeContainerfile(file))
    return containerfileFindings(file.text, (line) => `${file.path}:${line}`);
  const read = readListed(file, WANTED);
  if (read.length > 0) {
    return read.flatMap((one) => (isSourceFinding(one) ? [lintFindingOf(one)] : lintObject(one)));
  }
  const message = `${WANTED} is expected, and the file is empty`;
  return [{ place: `${file.path}:1`, severity: 'error', message }];
}

/**
 * An instruction comes first, behind comments; no key of an object is followed by blanks and a
 * word.
 */
function looksLikeContainerfile({ path, text }: SourceFile): boolean {
  if (/(?:^|[/.])(?:Container|Docker)file(?:\.[^/]{0,255})?$/i.test(path)) return true;
  if (/\.(?:ya?ml|json)$/i.test(path)) return false;
  const first = text.split('\n').find((line) => !/^\s*(?:#|$)/.test(line)) ?? '';
  return /^\s*[A-Za-z]+\s+[^\s:]/.test(first) || isKeyword(first.trim());
}

/** The findings of an object that should be a MachineOSConfig. */
export function lintObject(source: SourceObject): readonly LintFinding[] {
  const otherwise = kindFinding(source);
  if (otherwise !== undefined) return [lintFindingOf(otherwise)];
  const { value, place } = source;
  const faults = fieldErrors(value);
  const refused = faults.map((one) => ({
    place: place(segmentsOf(one.path)),
    severity: 'error' as const,
    message: `${fieldErrorText(one)}${advice(one)}`,
  }));
  const unknown = unknownFindings(source).map((one) => ({
    place: one.place,
    severity: 'error' as const,
    message: one.message,
  }));
  return [
    ...unknown,
    ...refused,
    ...operatorFindings(source, refused.length === 0),
    ...containerfiles(source),
  ];
}

/** A finding of a file that cannot be read, for people. */
export const lintFindingOf = ({ place, problem }: SourceFinding): LintFinding => ({
  place,
  severity: 'error',
  message: problem,
});

/** What only the operator rejects can be found in a valid object only. */
function operatorFindings(source: SourceObject, isAccepted: boolean): readonly LintFinding[] {
  if (!isAccepted) return [];
  return osConfigFindings(readMachineOSConfig(source)).map(({ path, message }) => ({
    place: source.place(segmentsOf(path)),
    severity: 'error',
    message: `${path}: ${message}`,
  }));
}

function containerfiles({ value, placeInText }: SourceObject): readonly LintFinding[] {
  return listOf(fieldsOf(value['spec'])['containerFile']).flatMap((file, index) => {
    const content = textOf(fieldsOf(file)['content']);
    // Without a text the image is that of the pool's MachineConfig.
    if (content.trim() === '') return [];
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
    rule,
    message: `${message} [${rule}]`,
  }));
}

/** What to write, where the server's message does not name it. */
function advice({ path, kind }: FieldError): string {
  if (kind === 'missing') return `: write ${path}`;
  if (kind === 'duplicate') return ': keep one entry, for NoArch';
  if (path === '') return ': write the name of the pool in both';
  if (path === 'spec.renderedImagePushSpec') {
    return ' Write HOST.DOMAIN[:PORT]/NAMESPACE/NAME:TAG';
  }
  return '';
}

/** A MachineOSConfig that a command can use, with the warnings about it. */
export interface UsableOSConfig {
  readonly config: MachineOSConfig;
  /** `FILE:LINE: …` */
  readonly warnings: readonly string[];
}

/**
 * Reads a MachineOSConfig that an image is to be built from, and refuses it for every error that
 * `layer lint` reports.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with all errors and
 * their lines
 */
export function buildableOSConfig(source: SourceObject): UsableOSConfig {
  const findings = lintObject(source);
  const config = acceptedByServer(source, findings);
  refuse(errorsIn(findings));
  return { config, warnings: findings.map(lineOf) };
}

/**
 * Reads a MachineOSConfig whose build is to be named. What the operator names nevertheless,
 * although nothing that can be used comes of it, is a warning.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with all errors and
 * their lines
 */
export function nameableOSConfig(source: SourceObject): UsableOSConfig {
  const findings = lintObject(source);
  const config = acceptedByServer(source, findings);
  const nameless = osConfigFindings(config)
    .filter((finding) => leavesNoName(finding, config))
    .map(({ path, message }) => `${source.place(segmentsOf(path))}: ${path}: ${message}`);
  refuse(nameless);
  return { config, warnings: findings.map(lineOf) };
}

function acceptedByServer(source: SourceObject, findings: readonly LintFinding[]): MachineOSConfig {
  try {
    return readMachineOSConfig(source);
  } catch (error) {
    // It holds only the server's first error; people fix all of them at once.
    if (error instanceof AgentError && error.code === 'layering.os-config-invalid') {
      refuse(errorsIn(findings));
    }
    throw error;
  }
}

/**
 * The operator creates no build for a push spec that it cannot read, nor one whose labels or tag
 * would be too long.
 */
const leavesNoName = ({ path }: OSConfigFinding, { spec }: MachineOSConfig): boolean =>
  path === 'metadata.name' ||
  (path === 'spec.renderedImagePushSpec' && !isNamedReference(spec.renderedImagePushSpec));

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw layeringFailure('layering.os-config-invalid', errors.join('; '));
}

const errorsIn = (findings: readonly LintFinding[]): readonly string[] =>
  findings.filter(({ severity }) => severity === 'error').map(lineOf);

const lineOf = ({ place, message }: LintFinding): string => `${place}: ${message}`;
