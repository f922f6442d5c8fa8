import { buildConditions } from '../../src/layering/api/os-build.ts';
import { wholeSeconds } from '../../src/model/duration.ts';

/**
 * The conditions that the operator writes in each phase of a build (`pkg/apihelpers`), and those
 * that a hand-over writes.
 */
const phases = {
  running: { held: 'Building', reason: 'Building', message: 'Image Build In Progress' },
  succeeded: { held: 'Succeeded', reason: 'Ready', message: 'Build Ready' },
  failed: { held: 'Failed', reason: 'Failed', message: 'Build Failed' },
  interrupted: { held: 'Interrupted', reason: 'Interrupted', message: 'Build Interrupted' },
  seeded: {
    held: 'Succeeded',
    reason: 'PreBuiltImageSeeded',
    message: 'Built before the cluster was up',
  },
} as const;

/** Phase of a build. */
export type BuildPhase = keyof typeof phases;

/** The five conditions of a phase. */
export const conditionsOf = (phase: BuildPhase, at: Date): readonly object[] => {
  const { held, reason, message } = phases[phase];
  return buildConditions.map((type) => ({
    type,
    status: type === held ? 'True' : 'False',
    reason,
    message,
    lastTransitionTime: wholeSeconds(at.getTime()),
  }));
};
