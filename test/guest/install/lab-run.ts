import { type LabRun, runLab } from '../../lab/run-lab.ts';

/** What somebody with one MachineOSConfig runs, as the README says it. */
export const runLabInGuest = (signal: AbortSignal): Promise<LabRun> =>
  runLab(
    ['--vm', '--scenario', 'one-master', '--os-config', 'mocks/lab/vm/os-config.yaml'],
    signal,
  );
