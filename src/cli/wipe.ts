import { systemClock } from '../adapters/clock.ts';
import { requireHost } from '../adapters/host-root.ts';
import { noJournal } from '../adapters/journal.ts';
import { flagFailure } from '../config/failures.ts';
import { positionalArguments } from '../config/flags.ts';
import { loadConfig } from '../config/load.ts';
import { runRole } from '../engine/run.ts';
import { maskerFor } from '../lib/masker.ts';
import { shownText } from '../lib/shown-url.ts';
import { version } from '../model/version.ts';
import { wipe } from '../roles/wipe.ts';
import { type ErasedDisk, eraseMethods } from '../steps/disk/erase.ts';
import type { InstallLine } from './command.ts';
import { print, printJson } from './messages.ts';
import { withoutJournal } from './run-context.ts';
import { hostFor } from './install-world.ts';

/** Arguments of `wipe`. */
interface WipeCall extends InstallLine {
  readonly disk?: string;
  readonly confirm?: string;
}

/**
 * Erases a disk, and prints the method. The log goes to standard error. Resolves with the exit
 * code.
 * @throws AgentError `cli.bad-flag` and errors of the settings, before the host is contacted
 */
export async function runWipe(call: WipeCall): Promise<number> {
  const { argv, environment, format, confirm } = call;
  const [word] = positionalArguments(argv);
  if (word !== undefined)
    throw flagFailure('cli.bad-flag', `\`wipe\`: unexpected argument: ${shownText(word)}`, {
      hint: 'name the one disk by --disk; flags behind such a word are not read',
    });
  const { config: given } = await loadConfig(argv, environment);
  await requireHost(given.host.root);
  const disk = { ...given.disk, device: call.disk ?? given.disk.device, format: [] };
  const config = { ...given, disk, image: { ...given.image, existingRoot: '' } };
  const { mask } = maskerFor(config);
  const level = config.log.verbose ? 'debug' : 'info';
  return withoutJournal({ level, stream: 'stderr', mask }, async ({ emit, run, sink, signal }) => {
    const ports = { host: hostFor(config, environment, emit), clock: systemClock };
    const report = (erased: ErasedDisk): void => {
      const { path, serial, wwn, sizeBytes } = erased.disk;
      const { method } = erased;
      const how = eraseMethods[method];
      // A field is never removed within one version.
      if (format === 'json')
        printJson({ v: 1, disk: path, serial, wwn, bytes: sizeBytes, method, ...how });
      else print(`${path} is erased: ${how.says}\n`);
    };
    await runRole({
      role: wipe({ confirm, report }),
      config,
      ports,
      clock: systemClock,
      journal: noJournal,
      header: { version, fingerprint: 'none', bootId: 'none' },
      run,
      sinks: [sink],
      signal,
    });
  });
}
