import { minutes, seconds } from '../../model/duration.ts';
import { bootc } from '../../os/bootc.ts';
import { osFailure } from '../../os/failures.ts';
import { asksForChange } from '../../os/kernel-arguments.ts';
import { Sight } from './facts.ts';
import { ask, readHost } from './read-host.ts';
import { type NodeScope, step } from './step.ts';

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
  run: async (scope) => {
    const { host, signal, note, config } = scope;
    const sight = await readHost({ host, signal }, asksForChange(config.kernelArguments));
    note('info', `the driver is ${sight.driver}: ${sight.reason}`, { driver: sight.driver });
    await heedOperator(scope);
    return sight;
  },
});

/** A record is for nodes of the operator alone; without one the operator and the image may differ. */
async function heedOperator({ host, signal, note, config: { records } }: NodeScope): Promise<void> {
  const found = await ask({ host, signal }, ['test', '-e', machineConfigFile]);
  if (records && found === undefined) {
    throw osFailure('os.not-operators', `${machineConfigFile} is not on this host`);
  }
  if (records || found === undefined) return;
  note(
    'warn',
    'the Machine Config Operator looks after this node; it calls the node degraded, or moves it back, unless its MachineConfig names the same image',
  );
}
