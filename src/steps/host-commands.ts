import { minutes } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import { argumentsIn } from '../os/kernel-arguments.ts';
import { hostFailure } from '../ports/host-failures.ts';
import type { HostScope } from './step.ts';
import type { Host } from '../ports/host.ts';

/**
 * Asks the host a question that a command answers by its exit code: 0 is yes, 1 is no.
 * @throws AgentError `command.*` for any other end
 */
export async function isTrue(
  { host, signal }: HostScope,
  argv: readonly string[],
): Promise<boolean> {
  const { exitCode } = await host.exec(argv, { signal, limit: minutes(2), accept: [0, 1] });
  return exitCode === 0;
}

/**
 * The text of a file of the host.
 * @throws the result of `missing` for the path of a missing file
 */
export async function readTextOr(
  { host, signal }: HostScope,
  path: string,
  missing: (path: string) => Error,
): Promise<string> {
  const text = await host.readText(path, signal);
  if (text === undefined) throw missing(path);
  return text;
}

/** Prints the architecture of the host as the kernel names it: `x86_64`, `aarch64`, `s390x`. */
export const architectureArgv = ['uname', '-m'] as const;

/**
 * The architecture of the host as the kernel names it.
 * @throws AgentError `command.*`
 */
export async function readArchitecture({ host, signal }: HostScope): Promise<string> {
  const { stdout } = await host.exec(architectureArgv, { signal, limit: minutes(2) });
  if (/^\w+$/.test(stdout.trim())) return stdout.trim();
  throw unreadableOutput('uname', 'architecture', stdout);
}

/**
 * The error for a command that exited with success but printed something unexpected; its output
 * must not be used.
 */
export const unreadableOutput = (program: string, wanted: string, stdout: string): AgentError =>
  hostFailure('command.unreadable', `${program} printed no ${wanted}: ${stdout.slice(0, 100)}`);

/** Prints the first bytes of a file in hexadecimal. */
export const bytesArgv = (path: string, most: number): readonly string[] => [
  ...['od', '--address-radix=n', '--format=x1', '--output-duplicates', '--width=64'],
  ...[`--read-bytes=${most}`, path],
];

/**
 * The first bytes of a file of the host, fewer if the file is shorter.
 * @throws AgentError `command.*`
 */
export async function readBytes(
  { host, signal }: HostScope,
  path: string,
  most: number,
): Promise<Buffer> {
  const { stdout } = await host.exec(bytesArgv(path, most), { signal, limit: minutes(2) });
  if (/[^0-9a-f\s]/.test(stdout)) throw unreadableOutput('od', 'bytes', stdout);
  return Buffer.from(stdout.replaceAll(/\s+/g, ''), 'hex');
}

/**
 * The kernel arguments in the output of a command, without those of the boot loader.
 * @throws AgentError `command.unreadable`
 */
export function kernelArgumentsIn(program: string, stdout: string): readonly string[] {
  if (/^[\s\x20-\x7e]*$/.test(stdout)) return argumentsIn(stdout);
  throw unreadableOutput(program, 'kernel arguments', stdout);
}

/** The hostname in the kernel of the host, which our container shares; empty if none is set. */
export const readHostname = async ({ host, signal }: HostScope): Promise<string> =>
  (await host.readText('/proc/sys/kernel/hostname', signal))?.trim() ?? '';

/** The id of the current boot of the host; `unknown` if it has none. */
export const readBootId = async (host: Host, signal: AbortSignal): Promise<string> =>
  (await host.readText('/proc/sys/kernel/random/boot_id', signal))?.trim() ?? 'unknown';
