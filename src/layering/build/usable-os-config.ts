import { AgentError } from '../../model/failure.ts';
import { layeringFailure } from '../failures.ts';
import { type LintFinding, lintObject } from '../lint.ts';
import { readMachineOSConfig, segmentsOf } from '../os-config/read.ts';
import { type Objection, objectionsTo } from '../os-config/semantics.ts';
import type { MachineOSConfig } from '../os-config/types.ts';
import { isNamedReference } from '../../lib/image-name.ts';
import type { SourceObject } from '../source-object.ts';

/** A MachineOSConfig that a command goes on with, and what it tells of it. */
export interface UsableOSConfig {
  readonly config: MachineOSConfig;
  /** `FILE:LINE: …` */
  readonly warnings: readonly string[];
}

/**
 * Reads a MachineOSConfig that an image is to be built from, and refuses it for every error that `layer lint` tells.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with all errors and their lines
 */
export function buildableOSConfig(source: SourceObject): UsableOSConfig {
  const findings = lintObject(source);
  const config = acceptedByServer(source, findings);
  refuse(errorsIn(findings));
  return { config, warnings: findings.map(textOf) };
}

/**
 * Reads a MachineOSConfig whose build is to be named. What the operator names all the same, although nothing that can
 * be used comes of it, is a warning.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with all errors and their lines
 */
export function nameableOSConfig(source: SourceObject): UsableOSConfig {
  const findings = lintObject(source);
  const config = acceptedByServer(source, findings);
  const nameless = objectionsTo(config)
    .filter((objection) => leavesNoName(objection, config))
    .map(({ path, message }) => `${source.place(segmentsOf(path))}: ${path}: ${message}`);
  refuse(nameless);
  return { config, warnings: findings.map(textOf) };
}

function acceptedByServer(source: SourceObject, findings: readonly LintFinding[]): MachineOSConfig {
  try {
    return readMachineOSConfig(source);
  } catch (error) {
    // The server's first fault is in it; people mend all of them at once.
    if (error instanceof AgentError && error.code === 'layering.os-config-invalid') {
      refuse(errorsIn(findings));
    }
    throw error;
  }
}

/** The operator makes no object for a place that it cannot read, nor one whose labels or tag would be too long. */
const leavesNoName = ({ path }: Objection, { spec }: MachineOSConfig): boolean =>
  path === 'metadata.name' ||
  (path === 'spec.renderedImagePushSpec' && !isNamedReference(spec.renderedImagePushSpec));

function refuse(errors: readonly string[]): void {
  if (errors.length > 0) throw layeringFailure('layering.os-config-invalid', errors.join('; '));
}

const errorsIn = (findings: readonly LintFinding[]): readonly string[] =>
  findings.filter(({ severity }) => severity === 'error').map(textOf);

const textOf = ({ place, message }: LintFinding): string => `${place}: ${message}`;
