import { type LabRun, runLab } from '../../lab/run-lab.ts';

/** What somebody with one MachineOSConfig runs, as the README says it. */
export const runLabInGuest = (signal: AbortSignal): Promise<LabRun> =>
  runLab(
    ['--vm', '--scenario', 'one-master', '--os-config', 'test/guest/lab/os-config.yaml'],
    signal,
  );
