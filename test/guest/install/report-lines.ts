import type { RunEvent } from '../../../src/engine/events.ts';

/** The values in the report of Lab CoreOS under one name, one for each line. */
export const linesOf = (report: string, fact: string): readonly string[] =>
  report
    .split('\n')
    .filter((line) => line.startsWith(`LABCOREOS ${fact}: `))
    .map((line) => line.slice(`LABCOREOS ${fact}: `.length));

/**
 * The retries and warnings of the agent about operating systems. A command that the real ostree
 * refused is among them.
 */
export const errorsIn = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events
    // The live system has no podman to collect logs with and no nmcli, which the agent warns of.
    .filter((event) => 'step' in event && /^(?:image|layering)\//.test(event.step))
    .filter(
      (event) =>
        ['step.retrying', 'step.failed'].includes(event.type) ||
        (event.type === 'wait.updated' && event.sentence.endsWith(' succeeds')) ||
        (event.type === 'note' &&
          event.level === 'warn' &&
          !event.message.endsWith('nmcli is not on the host')),
    );
