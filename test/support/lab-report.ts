import type { HostReport } from '../../mocks/lab/report.ts';

/** The lab's report of an installed host. */
export const hostReport = (fields: Partial<HostReport> = {}): HostReport => ({
  name: 'm1',
  role: 'master',
  outcome: 'done',
  stage: 'Done',
  boots: 1,
  agentStarts: 1,
  seconds: 1,
  writes: 1,
  unknownCommands: [],
  ...fields,
});
