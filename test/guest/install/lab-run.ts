import { type LabRun, runLab } from '../../lab/run-lab.ts';

/**
 * What somebody with one MachineOSConfig runs, as the README says it; the page of the run goes to a
 * file.
 */
export const runLabInGuest = (pageFile: string, signal: AbortSignal): Promise<LabRun> => {
  const words = ['--os-config', 'test/guest/lab/os-config.yaml', '--page-file', pageFile];
  return runLab(['scripts/lab --vm --scenario one-master', ...words].join(' '), signal);
};
