import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { qemuProgram } from '../../../scripts/parts/scripted.ts';
import { type GuestFiles, type GuestShape, qemuArguments } from './qemu-argv.ts';
import { GuestError, openSerialLog, type SerialLog } from './serial-log.ts';

/** A running guest. Disposing of it cuts its power, so a test that fails leaves none behind. */
export interface Guest extends AsyncDisposable {
  /** The first serial port, ttyS0: boot loader, kernel and other writers to /dev/console. */
  readonly console: SerialLog;
  /** The second serial port, ttyS1: output of a live guest's job, and the report of Lab CoreOS. */
  readonly job: SerialLog;
  /** Ends the guest at once, as pulling its plug does; resolves when it is gone. */
  readonly powerCut: () => Promise<void>;
  /**
   * Resolves when the guest has powered off or requested a reboot, which also ends it.
   *
   * @throws GuestError when QEMU failed or the deadline passed.
   */
  readonly ended: (deadlineSeconds: number) => Promise<void>;
}

const firmwareFolder = '/usr/share/OVMF';

/**
 * Starts a guest, by the part qemu, whose logs, and UEFI variables if it has such, lie in the given
 * folder under the given name.
 */
export function startGuest(shape: GuestShape, folder: string, name: string): Guest {
  const files = guestFiles(shape, join(folder, name));
  const { BOOTWRIGHT_GUEST_ACCEL: accelerator } = process.env;
  // The kernel kills the guest when the test's process ends in any way.
  const wrapped = ['--pdeathsig', 'KILL', '--', qemuProgram()];
  const child = spawn('setpriv', [...wrapped, ...qemuArguments(shape, files, accelerator)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const gone = once(child, 'close').then(() => complaints);
  const [consoleLog = '', jobLog = ''] = files.serialLogs;
  const powerCut = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  return {
    console: openSerialLog(consoleLog, gone),
    job: openSerialLog(jobLog, gone, [consoleLog]),
    powerCut,
    ended: async (deadlineSeconds) => {
      await within(gone, deadlineSeconds, name);
      if (child.exitCode !== 0)
        throw new GuestError(`guest ${name} did not end by itself: ${complaints}`);
    },
    [Symbol.asyncDispose]: powerCut,
  };
}

function guestFiles(shape: GuestShape, base: string): GuestFiles {
  const serialLogs = ['console', 'job'].map((port) => `${base}-${port}.txt`);
  for (const path of serialLogs) writeFileSync(path, '');
  if (shape.firmware === 'bios') return { serialLogs };
  const { variables = `${base}-uefi-variables.fd` } = shape;
  if (!existsSync(variables)) copyFileSync(join(firmwareFolder, 'OVMF_VARS_4M.fd'), variables);
  return { serialLogs, firmware: { code: join(firmwareFolder, 'OVMF_CODE_4M.fd'), variables } };
}

async function within<T>(promise: Promise<T>, seconds: number, name: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new GuestError(`guest ${name} is still on after ${seconds} s`)),
    seconds * 1000,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
