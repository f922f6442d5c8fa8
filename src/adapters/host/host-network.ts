import { readlink } from 'node:fs/promises';
import { HOST_ROOT } from '../../model/host-root.ts';
import { ownProgram } from './run-command.ts';

/**
 * Starts the program again in the network of the host, and with its name, where its container has
 * a network of its own, as without `--net=host`: commands on the host run in ours, and the control
 * plane of a bootstrap host is at an address of the host. Does nothing where the settings say where
 * the files of the host are.
 */
export async function joinHostNetwork(
  root: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (root !== HOST_ROOT) return;
  const [host, own] = await Promise.all([networkOf('1'), networkOf('self')]);
  if (host === undefined || host === own) return;
  const nsenter = ownProgram('nsenter', environment);
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(nsenter, ['nsenter', '--target', '1', '--net', '--uts', '--', ...again]);
}

const networkOf = (pid: string): Promise<string | undefined> =>
  readlink(`/proc/${pid}/ns/net`).catch(() => undefined);
