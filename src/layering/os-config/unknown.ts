import { type UnknownMember, unknownMembers } from '../schema/unknown.ts';
import type { SourceObject } from '../source-object.ts';
import { machineOSConfigKind } from './schema.ts';

/** A member that no cluster knows, as it is told. */
export interface UnknownFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  /** In the server's words, with the name that was meant where one is close. */
  readonly message: string;
  /** Whether it is below `spec`, where whoever wrote it counts on it. */
  readonly isInSpec: boolean;
}

/** The members of a MachineOSConfig that no cluster knows: it would drop them without a word to whoever wrote them. */
export const unknownFindings = ({ value, place }: SourceObject): readonly UnknownFinding[] =>
  unknownMembers(value, machineOSConfigKind).map((member) => ({
    place: place(member.segments),
    message: `${member.message}${meant(member)}`,
    isInSpec: member.segments[0] === 'spec',
  }));

const meant = ({ nearest }: UnknownMember): string =>
  nearest === undefined ? '' : `: did you mean ${nearest}?`;
