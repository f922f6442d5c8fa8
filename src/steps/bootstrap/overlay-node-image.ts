import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import {
  unitMonitorArgv,
  unitState,
  unitStateArgv,
  unitStatus,
  unitWatch,
} from '../cluster/systemd-unit.ts';
import { step, type StepScope } from '../step.ts';
import { bootstrapFailure } from './failures.ts';

/** Asks whether the live system has the client of the cluster; bootkube needs it. */
export const hasOcArgv = ['stat', '/usr/bin/oc'] as const;

/** Units of bootstrap.ign that pull the node image and lay it over the live system. */
export const overlayUnits = ['node-image-pull.service', 'node-image-overlay.service'] as const;

/** Forgets that the units failed in an earlier run. */
export const forgetFailedArgv = ['systemctl', 'reset-failed', ...overlayUnits] as const;

/** Starts both and does not wait: the second follows the first by their own order. */
export const startOverlayArgv = ['systemctl', 'start', '--no-block', ...overlayUnits] as const;

/** A node image is more than a gigabyte, and the script that pulls it tries again by itself. */
const longestUnit = hours(1);

/**
 * Brings the content of the node image onto a live system that is plain RHEL CoreOS without
 * OpenShift's own programs, as its images are since 4.19.
 */
export const overlayNodeImage = step({
  id: 'bootstrap/overlay-node-image',
  title: 'Lay the node image over the live system if it lacks oc',
  uses: ['host'],
  limit: 2 * longestUnit + minutes(5),
  waitsFor: 'the node image to be pulled and laid over the live system, where it lacks oc',
  preview: () => [
    hasOcArgv,
    forgetFailedArgv,
    startOverlayArgv,
    unitMonitorArgv(overlayUnits),
    ...overlayUnits.map(unitStateArgv),
  ],
  run: async (scope) => {
    const { host, signal } = scope;
    if (await hasOc(scope)) return;
    // Else the state of an earlier attempt could be taken for that of this one. Units that systemd
    // has not loaded yet cannot have failed.
    await host.exec(forgetFailedArgv, { signal, limit: minutes(1), accept: [0, 1, 5] });
    await start(scope);
    for (const unit of overlayUnits) await untilActive(scope, unit);
    if (await hasOc(scope)) return;
    throw bootstrapFailure(
      'bootstrap.no-oc',
      `${overlayUnits[1]} ended well, but /usr/bin/oc is not there`,
    );
  },
});

async function hasOc({ host, signal }: StepScope<'host'>): Promise<boolean> {
  const { exitCode } = await host.exec(hasOcArgv, { signal, limit: seconds(20), accept: [0, 1] });
  return exitCode === 0;
}

async function start({ host, signal }: StepScope<'host'>): Promise<void> {
  try {
    await host.exec(startOverlayArgv, { signal, limit: minutes(1) });
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    const { message, context, cause } = error;
    // systemctl ends with 5 for a unit that does not exist: the release is older than the image.
    const isMissing = /not found|not loaded/i.test(message);
    const code = isMissing ? 'bootstrap.no-oc' : 'bootstrap.overlay-failed';
    throw bootstrapFailure(code, message, { context, cause });
  }
}

async function untilActive(scope: StepScope<'host'>, unit: string): Promise<void> {
  const { host, until } = scope;
  await until(
    `${unit} is active`,
    async (signal) => {
      const state = await unitState(host, unit, signal);
      if (state === 'active') return { done: undefined };
      if (state === 'failed') throw await failed(scope, unit);
      return { status: `${unit} is ${state}` };
    },
    { every: seconds(5), within: longestUnit, watch: unitWatch(host, overlayUnits) },
  );
}

async function failed({ host, signal, note }: StepScope<'host'>, unit: string): Promise<Error> {
  const status = await unitStatus(host, unit, signal);
  note('warn', `${unit} failed`, { unit, status });
  return bootstrapFailure('bootstrap.overlay-failed', `${unit} failed`, { context: { unit } });
}
