import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path/posix';
import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { CommandResult, ExecOptions, WrittenFile } from '../../ports/host.ts';
import type { FileContent } from './direct-files.ts';
import { piecesOf } from './pieces.ts';
import type { CommandInput } from './run-command.ts';

/** Runs a command on the host, with input where it takes some; its output is not trimmed. */
export type RunOnHost = (
  argv: readonly string[],
  options: ExecOptions & { readonly input?: CommandInput },
) => Promise<CommandResult>;

/** Small files; a stuck mount must not hold a step longer. */
const limit = seconds(60);

const isAbsent = ({ stderr }: CommandResult): boolean =>
  /No such file or directory|Not a directory/.test(stderr);

/** Whole text of a file that only the host sees; undefined when there is none. */
export async function readOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await run(['cat', path], { signal, limit, accept: [0, 1] });
  if (result.exitCode === 0) return result.stdout;
  if (isAbsent(result)) return undefined;
  throw hostFailure('file.not-read', `${path} cannot be read: ${result.stderr.trim()}`, {
    context: { path },
  });
}

/** Sorted names in a directory that only the host sees. */
export async function listOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const result = await run(['ls', '-1A', path], { signal, limit, accept: [0, 2] });
  if (result.exitCode === 0)
    return result.stdout
      .split('\n')
      .filter((name) => name !== '')
      .sort();
  if (isAbsent(result)) return [];
  throw hostFailure('file.not-read', `${path} cannot be listed: ${result.stderr.trim()}`, {
    context: { path },
  });
}

/** The path with links followed, by the host; undefined when it leads nowhere. */
export async function realPathOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await run(['realpath', '--canonicalize-existing', path], {
    signal,
    limit,
    accept: [0, 1],
  });
  return result.exitCode === 0 ? result.stdout.trimEnd() : undefined;
}

/** What tells one state of a path from another: which file it leads to, its size and its times. */
export const statArgv = (paths: readonly string[]): readonly string[] => [
  ...['stat', '--dereference', '--format=%n %d %i %f %s %.Y %.Z', '--'],
  ...paths,
];

/** The state of each path that is there, as text to be compared. */
export async function statesOnHost(
  run: RunOnHost,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  return (await run(statArgv(paths), { signal, limit, accept: [0, 1] })).stdout;
}

/** Removes a file that only the host sees. */
export async function removeOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  await run(['rm', '-f', path], { signal, limit });
}

/** Writes a file that only the host sees, with the same promises as a direct write. */
export async function writeOnHost(
  run: RunOnHost,
  { path, content }: { readonly path: string; readonly content: FileContent },
  { signal, mode = 0o600 }: { readonly signal: AbortSignal; readonly mode?: number },
): Promise<WrittenFile> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  const hash = createHash('sha256');
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of piecesOf(content)) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  try {
    const octal = mode.toString(8).padStart(4, '0');
    // The mode comes first, so that nobody can read a secret file while it is written. The input
    // is a socket, which programs can read but not open by the name /dev/stdin.
    await run(['install', '-m', octal, '/dev/null', temporary], { signal, limit });
    await run(['dd', `of=${temporary}`, 'conv=notrunc,fsync', 'status=none'], {
      signal,
      limit,
      input: counted(),
    });
    await run(['mv', '-T', temporary, path], { signal, limit });
    await run(['sync', dirname(path)], { signal, limit });
    return { path, bytes, sha256: hash.digest('hex') };
  } catch (error) {
    await run(['rm', '-f', temporary], { signal: AbortSignal.timeout(limit), limit }).catch(
      () => undefined,
    );
    throw asNotWritten(path, error);
  }
}

function asNotWritten(path: string, error: unknown): unknown {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return error;
  return hostFailure('file.not-written', `${path} cannot be written: ${error.message}`, {
    context: { path },
    cause: error,
  });
}
