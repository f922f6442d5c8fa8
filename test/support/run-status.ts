import type { RunStatus } from '../../src/reporting/run-status.ts';

/** The status of a running master. */
export const runStatus = (change: Partial<RunStatus> = {}): RunStatus => ({
  v: 1,
  run: 'r',
  role: 'master',
  version: '1.1.0',
  isResumed: false,
  state: 'running',
  since: 0,
  updated: 1,
  steps: 20,
  ended: 3,
  running: [],
  ...change,
});
