import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import {
  readUnitProperties,
  unitMonitorArgv,
  unitPropertiesArgv,
  unitStatus,
  unitTexts,
  unitWatch,
} from '../host/systemd-unit.ts';
import { step, type StepScope } from '../step.ts';
import { bootstrapFailure } from './failures.ts';
import { isTrue } from '../host-commands.ts';

/** Checks whether the live system has oc, which bootkube needs. */
const hasOcArgv = ['stat', '/usr/bin/oc'] as const;

/** Units of bootstrap.ign that pull the node image and overlay it. */
const overlayUnits = ['node-image-pull.service', 'node-image-overlay.service'] as const;

const forgetFailedArgv = ['systemctl', 'reset-failed', ...overlayUnits] as const;

/** Starts both units and does not wait; the second is ordered after the first. */
const startOverlayArgv = ['systemctl', 'start', '--no-block', ...overlayUnits] as const;

/** A node image has more than a gigabyte, and the script of the unit retries the pull. */
const longestUnit = hours(1);

/**
 * Overlays the node image on a live system without the programs of OpenShift. Since 4.19 the live
 * images are plain RHEL CoreOS.
 */
export const overlayNodeImage = step({
  id: 'bootstrap/overlay-node-image',
  title: 'Overlay the node image (provides `oc`)',
  uses: ['host'],
  limit: 2 * longestUnit + minutes(5),
  explain: () => 'waits for the node image to be pulled and overlaid, if /usr/bin/oc is missing',
  preview: () => [
    hasOcArgv,
    forgetFailedArgv,
    startOverlayArgv,
    unitMonitorArgv(overlayUnits),
    ...overlayUnits.map(unitPropertiesArgv),
  ],
  run: async (scope) => {
    const { host, signal } = scope;
    if (await isTrue(scope, hasOcArgv)) return;
    // Otherwise the step could mistake the state of an earlier attempt for the current one. A unit
    // that is not loaded cannot have failed.
    await host.exec(forgetFailedArgv, { signal, limit: minutes(2), accept: [0, 1, 5] });
    await start(scope);
    for (const unit of overlayUnits) await untilActive(scope, unit);
    if (await isTrue(scope, hasOcArgv)) return;
    throw bootstrapFailure(
      'bootstrap.no-oc',
      `${overlayUnits[1]} succeeded, but /usr/bin/oc is missing`,
    );
  },
});

async function start({ host, signal }: StepScope<'host'>): Promise<void> {
  try {
    await host.exec(startOverlayArgv, { signal, limit: minutes(2) });
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    const { message, context, cause } = error;
    // systemctl exits with 5 if the unit does not exist: the release is older than the live image.
    const isMissing = /not found|not loaded/i.test(message);
    const code = isMissing ? 'bootstrap.no-oc' : 'bootstrap.overlay-failed';
    throw bootstrapFailure(code, message, { context, cause });
  }
}

async function untilActive(scope: StepScope<'host'>, unit: string): Promise<void> {
  const { host, until } = scope;
  const text = unitTexts(unit);
  await until(
    `${unit} is active`,
    async (signal) => {
      const properties = await readUnitProperties(host, unit, signal);
      if (properties.state === 'active') return { done: undefined };
      if (properties.state === 'failed') throw await failed(scope, unit);
      return { status: text(properties) };
    },
    { every: seconds(5), within: longestUnit, watch: unitWatch(host, overlayUnits) },
  );
}

async function failed({ host, signal, note }: StepScope<'host'>, unit: string): Promise<Error> {
  const status = await unitStatus(host, unit, signal);
  note('warn', `${unit} failed`, { unit, status });
  return bootstrapFailure('bootstrap.overlay-failed', `${unit} failed`, { context: { unit } });
}
