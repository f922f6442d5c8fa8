import { minutes, seconds } from '../../model/duration.ts';
import { bootc } from '../../os/bootc.ts';
import { osFailure } from '../../os/failures.ts';
import { asksForChange } from '../../os/kernel-arguments.ts';
import { Sight } from './facts.ts';
import { ask, readHost } from './read-host.ts';
import { step } from './step.ts';

/** Left by the Machine Config Daemon on every node that it looks after. */
const machineConfigFile = '/etc/machine-config-daemon/currentconfig';

/** Two commands of ours must not change one host; two of others are told apart by their programs. */
const lockName = 'bootwright-node';

/** Keeps other commands of ours away from the host as long as the process lives. */
export const lockNode = step({
  id: 'os/lock',
  title: 'Lock the operating system against other changes of ours',
  uses: ['host'],
  rerun: 'always',
  limit: seconds(30),
  run: async ({ host, signal }) => {
    if ((await host.lock(lockName, signal)) !== undefined) return;
    throw osFailure('os.busy', 'another bootwright node is at work on this host');
  },
});

/** Looks what the host runs, and by which program that is changed. */
export const look = step({
  id: 'os/look',
  title: 'Look at the operating system of the host',
  uses: ['host'],
  gives: Sight,
  preflight: true,
  limit: minutes(10),
  preview: () => [bootc.statusArgv],
  run: async ({ host, signal, note, config: { kernelArguments } }) => {
    const sight = await readHost({ host, signal }, asksForChange(kernelArguments));
    note('info', `the driver is ${sight.driver}: ${sight.reason}`, { driver: sight.driver });
    if ((await ask({ host, signal }, ['test', '-e', machineConfigFile])) !== undefined) {
      note(
        'warn',
        'the Machine Config Operator looks after this node; it calls the node degraded, or moves it back, unless its MachineConfig names the same image',
      );
    }
    return sight;
  },
});
