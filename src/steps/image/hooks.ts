import { basename } from 'node:path/posix';
import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';
import { ifGiven, type NeedValues } from '../../engine/fact.ts';
import { proxyEnv } from '../../lib/proxies.ts';
import { shownText, shownUrl } from '../../lib/shown-url.ts';
import { hours, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { TargetDisk } from '../disk/facts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { bytesArgv, isTrue, readBytes } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { ChosenImage } from './facts.ts';
import { imageFailure } from './failures.ts';

type Hook = 'before' | 'after';

const pathsOf = ({ hooks }: Config): readonly string[] =>
  [hooks.before, hooks.after].filter((path) => path !== '');

/** Number of bytes of a file in which the kernel looks for its interpreter (execve(2)). */
const head = 256;

/** Checks that each hook is executable, before the disk is changed. */
export const checkHooks = step({
  id: 'image/check-hooks',
  title: 'Check that the hooks are executable',
  uses: ['host'],
  when: condition<Config>('a hook is set', (config) => pathsOf(config).length > 0),
  effect: 'reads',
  limit: minutes(5),
  preview: (config) =>
    pathsOf(config).flatMap((path) => [
      ['test', '-f', path],
      ['test', '-x', path],
      bytesArgv(path, head),
    ]),
  run: async (scope) => {
    for (const path of pathsOf(scope.config)) {
      const problem = await problemOf(scope, path);
      if (problem === undefined) continue;
      throw imageFailure('hook.not-executable', `${path} ${problem}`, { context: { path } });
    }
  },
});

async function problemOf(scope: StepScope<'host'>, path: string): Promise<string | undefined> {
  if (!(await isTrue(scope, ['test', '-f', path]))) return 'is not a file on the host';
  if (!(await isTrue(scope, ['test', '-x', path]))) return 'is not executable';
  const text = (await readBytes(scope, path, head)).toString('latin1');
  // Any other file is a program, or a script for /bin/sh (execvp(3)).
  if (!text.startsWith('#!')) return undefined;
  const problem = scriptProblem(text);
  if (problem !== undefined) return problem;
  const [interpreter = '', ...ofEnv] = interpretersOf(text);
  for (const argv of [['test', '-x', interpreter], ...ofEnv.map(onPathArgv)])
    if (!(await isTrue(scope, argv))) return `needs ${argv.at(-1)}, which is not on the host`;
  return undefined;
}

/** Finds a program as env(1) does. */
const onPathArgv = (name: string) => ['sh', '-c', 'command -v "$1" || exit 1', 'sh', name];

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** The program behind #!, and the one that env(1) finds for it; empty if the line names none. */
function interpretersOf(text: string): readonly string[] {
  const [program = '', ...words] = firstLine(text).slice(2).trim().split(/\s+/);
  if (basename(program) !== 'env') return [program];
  const name = words.find((word) => word !== '-S' && !word.includes('='));
  // Further options of env are not followed.
  return name?.startsWith('-') === true ? [program] : [program, name ?? ''];
}

/** The reason why the kernel does not run a script that begins with #!; undefined if it may run. */
export function scriptProblem(text: string): string | undefined {
  if (firstLine(text).endsWith('\r')) return 'has Windows line endings: run dos2unix';
  return interpretersOf(text).includes('') ? 'names no program behind #!' : undefined;
}

/** Facts that exist only if the system is written to a disk. */
const needs = { disk: ifGiven(TargetDisk), image: ifGiven(ChosenImage) };

/**
 * The properties that both hooks share. A hook that was interrupted by a stop of the run runs
 * again.
 */
const hookStep = (hook: Hook) =>
  ({
    uses: ['host', 'clock'],
    needs,
    when: condition<Config>(`hooks.${hook} is set`, ({ hooks }) => hooks[hook] !== ''),
    // Longer than any limit of hooks.minutes; that limit applies to the command.
    limit: hours(24) + minutes(5),
    explain: ({ hooks }: Config) =>
      `${hooks[hook]}, at most ${hooks.minutes} min, with INSTALL_HOOK=${hook} in its environment`,
    preview: ({ hooks }: Config) => [[hooks[hook]]],
    run: (scope: StepScope<'host' | 'clock'>, facts: NeedValues<typeof needs>) =>
      runHook(hook, scope, facts),
  }) as const;

/** Runs the operator's hook before the system is written. */
export const runBeforeHook = step({
  id: 'image/run-before-hook',
  title: 'Run hooks.before',
  ...hookStep('before'),
});

/**
 * Runs the operator's hook on the live system once the installation is complete, before the reboot.
 */
export const runAfterHook = step({
  id: 'image/run-after-hook',
  title: 'Run hooks.after',
  ...hookStep('after'),
});

/**
 * Runs a hook to its end. The log has the first and the last 64 KiB of its output; addresses are
 * shown without passwords.
 * @throws AgentError `hook.failed`, `hook.timed-out`
 */
async function runHook(
  hook: Hook,
  scope: StepScope<'host' | 'clock'>,
  facts: NeedValues<typeof needs>,
): Promise<void> {
  const { host, config, signal, note } = scope;
  const path = config.hooks[hook];
  const output = endsOf((level, line) => note(level, shownText(line), { hook }));
  const run = () =>
    host.exec([path], {
      signal,
      limit: minutes(config.hooks.minutes),
      env: hookEnv(hook, config, facts),
      onLine: output.take,
    });
  try {
    await withHeartbeat(`hooks.${hook}`, scope, run);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    const code = error.code === 'command.timed-out' ? 'hook.timed-out' : 'hook.failed';
    const context = { hook, path };
    throw imageFailure(code, `hooks.${hook}: ${shownText(error.message)}`, {
      context,
      cause: error,
    });
  } finally {
    output.end();
  }
}

/** Number of characters of the output that are logged as they arrive, and from its end. */
const noted = 64 * 1024;

/**
 * Logs the beginning of an output as it arrives, and then its end: a hook with endless output must
 * not fill the log and the disk below it.
 */
function endsOf(note: (level: 'info' | 'warn', line: string) => void) {
  const last: string[] = [];
  let taken = 0;
  let kept = 0;
  let omitted = 0;
  return {
    take: (line: string): void => {
      if (line.trim() === '') return;
      taken += line.length;
      if (taken <= noted) {
        note('info', line);
        return;
      }
      last.push(line);
      kept += line.length;
      for (; kept > noted; omitted += 1) kept -= last.shift()?.length ?? kept;
    },
    end: (): void => {
      if (omitted > 0) note('warn', `${omitted} lines of what the hook printed are left out`);
      for (const line of last) note('info', line);
    },
  };
}

/** The environment of a hook: no value in it is secret, and it has no credentials of proxies. */
function hookEnv(
  hook: Hook,
  { role, cluster, image: { existingRoot }, proxy }: Config,
  { disk, image }: NeedValues<typeof needs>,
): Readonly<Record<string, string>> {
  const chosen =
    image?.kind === 'file' ? image.path : image?.kind === 'url' ? image.url : existingRoot;
  return {
    INSTALL_HOOK: hook,
    INSTALL_ROLE: role,
    INSTALL_HOST_ID: cluster.hostId,
    INSTALL_CLUSTER_ID: cluster.id,
    INSTALL_DISK: disk?.path ?? '',
    INSTALL_IMAGE: shownUrl(chosen),
    ...proxyEnv({ http: String(proxy.http), https: String(proxy.https), no: proxy.no }),
  };
}
