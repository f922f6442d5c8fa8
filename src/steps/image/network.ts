import {
  droppedKeys,
  keyfileProblems,
  type NamedText,
  nmstateFolder,
  nmstateKeyfiles,
} from '../../settings/keyfiles.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { Secret } from '../../model/secret.ts';
import type { CommandResult } from '../../ports/host.ts';
import type { StepScope } from '../step.ts';
import { imageFailure } from './failures.ts';

/** Lists the files in a folder by mode and name, as coreos-installer copies them. */
export const keyfilesArgv = (folder: string): readonly string[] => [
  ...['find', '-L', folder, '-maxdepth', '1', '-type', 'f', '-printf', String.raw`%m %f\n`],
];

/**
 * Writes a connection as NetworkManager reads it from its standard input, without its daemon and
 * without the network (nmcli(1), `--offline`).
 */
export const nmcliArgv = [
  ...['nmcli', '--offline', 'connection', 'modify', 'connection.autoconnect', 'yes'],
] as const;

/**
 * Checks the keyfiles of the installed host, which would be unreachable without them.
 * @throws AgentError `network.bad-keyfile`
 */
export async function checkKeyfiles(scope: NetworkScope): Promise<void> {
  const { host, config, signal } = scope;
  const folder = config.network.keyfiles;
  if (folder === '') return;
  const options = { signal, limit: minutes(2), accept: [0, 1] };
  const { stdout } = await host.exec(keyfilesArgv(folder), options);
  const files = new Map<string, string>();
  const open: string[] = [];
  for (const line of stdout.split('\n').filter((one) => one !== '')) {
    const [, mode = '', name = ''] = /^(\d+) (.*)$/.exec(line) ?? [];
    const isOne = name.endsWith('.nmconnection');
    files.set(name, (isOne ? await host.readText(`${folder}/${name}`, signal) : '') ?? '');
    // NetworkManager accepts only files that root alone can read; the copy keeps the mode.
    if (!/^[0-7]?00$/.test(mode)) open.push(`${name}: its mode is ${mode}, not 600`);
  }
  const problems = [...open, ...(await problemsOf(scope, [...files]))];
  if (problems.length === 0) return;
  const context = { folder, problems: problems.length };
  throw imageFailure('network.bad-keyfile', `${folder}: ${problems.join('; ')}`, { context });
}

/**
 * The errors in the syntax of keyfiles; without such errors, the values that the host's own
 * NetworkManager does not accept.
 */
async function problemsOf(
  scope: NetworkScope,
  files: readonly NamedText[],
): Promise<readonly string[]> {
  const problems = keyfileProblems(files);
  if (problems.length > 0) return problems;
  try {
    const refused: string[] = [];
    for (const file of files) refused.push(...(await refusedBy(scope, file)));
    return refused;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'command.not-found') throw error;
    scope.note('warn', `only the form of the keyfiles is checked: ${error.message}`, {});
    return [];
  }
}

async function refusedBy(
  { host, signal, note }: NetworkScope,
  [name, input]: NamedText,
): Promise<readonly string[]> {
  const options = { signal, limit: minutes(2), accept: [0, 1, 2], input };
  const { exitCode, stdout, stderr } = await host.exec(nmcliArgv, options);
  const lines = stderr.split('\n').filter((line) => line !== '');
  if (exitCode !== 0)
    return [`${name}: ${lines.join(' ').replace(/^Error: (?:Error writing connection: )?/, '')}`];
  for (const line of lines) note('warn', `${name}: ${line}`, {});
  const dropped = droppedKeys(input, stdout);
  return dropped.length === 0
    ? []
    : [`${name}: NetworkManager takes ${dropped.join(', ')} in part or not at all`];
}

/**
 * Prints the keyfiles for the network state in a file; it does not read the network
 * (nmstatectl(8)).
 */
export const nmstateArgv = (path: string): readonly string[] => ['nmstatectl', 'gc', path];

/** Creates the folder from which coreos-installer copies those keyfiles. */
export const makeFolderArgv = ['install', '--directory', '--mode=0700', nmstateFolder] as const;

type NetworkScope = Pick<StepScope<'host'>, 'host' | 'config' | 'signal' | 'hide' | 'note'>;

/**
 * A warning of nmstate, about a hostname that no keyfile can store for example: `[TIME WARN MODULE]
 * TEXT` (env_logger).
 */
const warning = /^\[\S+ WARN +\S+\] (.+)$/gm;

/**
 * The keyfiles of `network.nmstate`, checked like those of `network.keyfiles`; warnings of
 * nmstatectl are logged.
 * @throws AgentError `network.no-nmstatectl`, `network.bad-nmstate`
 */
export async function readNmstate(scope: NetworkScope): Promise<ReadonlyMap<string, string>> {
  const { host, config, signal, hide, note } = scope;
  const path = config.network.nmstate;
  const failed = (code: 'network.no-nmstatectl' | 'network.bad-nmstate', what: string): Error =>
    imageFailure(code, `${path}: ${what}`, { context: { path } });
  let said: CommandResult;
  try {
    said = await host.exec(nmstateArgv(path), { signal, limit: minutes(2) });
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (error.code === 'command.not-found') throw failed('network.no-nmstatectl', error.message);
    if (error.code !== 'command.failed') throw error;
    for (const secret of secretsIn(await host.readText(path, signal))) hide(secret);
    throw failed('network.bad-nmstate', error.message);
  }
  for (const [, text = ''] of said.stderr.matchAll(warning)) note('warn', `${path}: ${text}`);
  const files = nmstateKeyfiles(said.stdout);
  if (files === undefined) throw failed('network.bad-nmstate', 'nmstatectl printed no keyfiles');
  const problems = await problemsOf(scope, files);
  if (problems.length > 0) throw failed('network.bad-nmstate', problems.join('; '));
  return new Map(files);
}

/**
 * Values that nmstate hides when it shows a state; its errors show such a value if it has another
 * type (`hide_secrets`, 2.2.57).
 */
const secretsIn = (state = ''): readonly Secret[] =>
  [...state.matchAll(/(?:password|psk|mka-cak)["']?\s*:\s*["']?([^\s"',}]{6,})/g)].map(
    ([, value = '']) => new Secret(value),
  );

/**
 * Writes the keyfiles of `network.nmstate` to the folder from which coreos-installer copies them,
 * and removes those of an earlier run.
 */
export async function writeNmstate(scope: StepScope<'host'>): Promise<void> {
  const { host, signal } = scope;
  const files = await readNmstate({ ...scope, note: () => undefined });
  await host.exec(makeFolderArgv, { signal, limit: minutes(2) });
  for (const name of await host.list(nmstateFolder, signal))
    if (!files.has(name)) await host.remove(`${nmstateFolder}/${name}`, signal);
  for (const [name, text] of files)
    await host.writeFile(`${nmstateFolder}/${name}`, text, { signal, mode: 0o600 });
}
