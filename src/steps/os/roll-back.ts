import {
  bootcDropArgv,
  bootcRollbackArgv,
  isRequiredFor,
  rebootRequiredPath,
} from '../../os/bootc.ts';
import type { decideRollback } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { rpmOstreeDropArgv, rpmOstreeRollbackArgv } from '../../os/rpm-ostree.ts';
import { runCommands } from './read-host.ts';
import type { OsSnapshot } from './request.ts';

/** Drops what is staged, or puts first what ran before. */
export async function rollBack(
  scope: Parameters<typeof runCommands>[0],
  snapshot: OsSnapshot,
  kind: ReturnType<typeof decideRollback>,
): Promise<void> {
  if (kind === 'queued') return;
  if (kind === 'drop-staged') return dropNextBoot(scope, snapshot);
  const argv = snapshot.driver === 'bootc' ? bootcRollbackArgv : rpmOstreeRollbackArgv;
  return runCommands(scope, [argv]);
}

/**
 * Has the host boot next what runs now. What bootc left for it in `/run/reboot-required` goes too:
 * kured would reboot the node.
 * @throws AgentError `os.drop-unsupported`
 */
export async function dropNextBoot(
  scope: Parameters<typeof runCommands>[0],
  { driver, status }: Pick<OsSnapshot, 'driver' | 'status'>,
): Promise<void> {
  if (driver === 'rpm-ostree') return runCommands(scope, [rpmOstreeDropArgv(status)]);
  const argv = bootcDropArgv(status);
  if (argv === undefined) {
    const what = 'bootc cannot discard the staged deployment on this host';
    throw osFailure('os.drop-unsupported', what);
  }
  await runCommands(scope, [argv]);
  const { host, signal } = scope;
  const { booted, staged, pending } = status;
  const required = (await host.readText(rebootRequiredPath, signal)) ?? '';
  const digests = [booted, staged, pending].map((one) => one?.digest);
  if (isRequiredFor(required, digests)) await host.remove(rebootRequiredPath, signal);
}
