import { keepBundle, writeBundle } from '../../adapters/bundle-file.ts';
import { pathOnHost, requireHost } from '../../adapters/host-root.ts';
import { readJournalFile } from '../../adapters/journal.ts';
import { processLine } from '../../adapters/status-file.ts';
import { bundlePathFor, journalPath } from '../../config/complete.ts';
import type { Environment } from '../../config/environment.ts';
import { loadConfig, type LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { asAgentError } from '../../engine/failures.ts';
import { parseJournal } from '../../engine/journal.ts';
import { maskerFor } from '../../lib/masker.ts';
import { AgentError } from '../../model/failure.ts';
import { historyFrom, type RunHistory } from '../../reporting/run-history.ts';
import { allRoles, chooseRole } from '../../roles/choose.ts';
import { cliFailure } from '../failures.ts';
import { openWorld } from '../install-world.ts';
import { print, printBytes, printNote, shellWord } from '../messages.ts';
import { agentOf, readRunStatus, stateLine } from '../status.ts';
import { untilStopped } from '../stop-signal.ts';
import { type CollectedRun, packLogs } from './collect.ts';

/** Arguments of `logs collect`. */
interface CollectCall {
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly output?: string;
}

/**
 * Collects the logs of this host into a bundle. It can run beside an agent, also a hanging one: it
 * takes no lock, and only writes its own file. Resolves with 0, or with the exit code of a signal.
 * @throws AgentError `cli.bundle-not-written`, `cli.output-not-written`, `step.timed-out`
 */
export function runLogsCollect({ argv, environment, output }: CollectCall): Promise<number> {
  return untilStopped(async (signal) => {
    const { loaded, ...run } = await findRun(argv, environment);
    const secrets = maskerFor(loaded.config);
    const { mask } = secrets;
    await using world = await openWorld(loaded.config, {
      environment,
      mask,
      isQuiet: true,
    });
    const { ports } = world;
    const { bytes, manifest } = await packLogs({ ...run, loaded, ports, secrets, signal });
    if (output === '-') printBytes(bytes);
    else if (output === undefined) await keep(bytes, loaded.config, manifest.ended);
    else await written(output, writeBundle(output, bytes));
    return 0;
  });
}

/** Stores a bundle beside the journal of the host. */
async function keep(bytes: Uint8Array, config: Config, ended: number): Promise<void> {
  const path = bundlePathFor(ended, 'logs');
  const keeping = pathOnHost(config.host.root, path).then((at) => keepBundle(at, bytes));
  await written(path, keeping);
}

async function written(path: string, writing: Promise<void>): Promise<void> {
  await writing.catch((cause: unknown) => {
    throw cliFailure('cli.bundle-not-written', `${path} cannot be written`, { cause });
  });
  print(`wrote ${path}\nnext: bootwright logs read ${shellWord(path)}\n`);
}

/** The last run of this host from its files, and from its process if that still runs. */
async function findRun(
  argv: readonly string[],
  environment: Environment,
): Promise<Pick<CollectedRun, 'loaded' | 'role' | 'history' | 'end'>> {
  const own = await loadConfig(argv, environment);
  await requireHost(own.config.host.root);
  const status = await readRunStatus(own.config).catch(asAgentError);
  if (status instanceof AgentError) {
    const history: RunHistory = { run: '', steps: {} };
    const end = { state: `of no run: ${status.message}` };
    return { loaded: own, role: chooseRole(own.config), history, end };
  }
  const agent = agentOf(status);
  const loaded = agent === 'running' ? await settingsOf(status.process?.pid ?? 0, own) : own;
  const { root } = loaded.config.host;
  const text = (await readJournalFile(root, journalPath).catch(() => undefined)) ?? '';
  const entries = parseJournal(text.split('\n').filter((line) => line !== ''))?.entries ?? [];
  return {
    loaded,
    history: historyFrom(status, entries),
    role: allRoles.find(({ name }) => name === status.role) ?? chooseRole(loaded.config),
    end: { state: stateLine({ status, agent }, Date.now()) },
  };
}

/** The settings of a running agent, with its secrets; otherwise the settings of this command. */
async function settingsOf(pid: number, own: LoadedConfig): Promise<LoadedConfig> {
  try {
    const { argv, environment } = processLine(pid);
    return await loadConfig(installWords(argv), environment);
  } catch (thrown) {
    const reason = asAgentError(thrown).message;
    printNote('note', `config.txt has the settings of this command, not of the agent: ${reason}`);
    return own;
  }
}

/**
 * The flags in an agent's command line: the words after Node, its options, the program, and
 * `install`.
 */
export function installWords(argv: readonly string[]): readonly string[] {
  const program = argv.findIndex((word, at) => at > 0 && !word.startsWith('-'));
  const words = program < 0 ? [] : argv.slice(program + 1);
  return words[0] === 'install' ? words.slice(1) : words;
}
