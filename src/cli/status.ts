import { systemClock } from '../adapters/clock.ts';
import { kernelText, requireHost } from '../adapters/host-root.ts';
import { readJournalFile } from '../adapters/journal.ts';
import { processIdentity } from '../adapters/status-file.ts';
import { journalPath, statusPath } from '../config/complete.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { parseJournal, type JournalEntry, type JournalHeader } from '../engine/journal.ts';
import { renderWait, stepsInJournal } from '../engine/run-steps.ts';
import { decideRestart, type Restart } from '../engine/resume.ts';
import { jsonIn } from '../lib/json.ts';
import { plainLine } from '../lib/plain-text.ts';
import { renderDuration, seconds } from '../model/duration.ts';
import { isKnownToService, resetCall } from '../model/reset.ts';
import { version } from '../model/version.ts';
import { type RunningStep, RunStatus } from '../reporting/run-status.ts';
import { allRoles, chooseRole } from '../roles/choose.ts';
import type { InstallLine } from './command.ts';
import { cliFailure } from './failures.ts';
import { print, printAt, printJson, jsonText } from './messages.ts';
import { isHostInstalled, statusChanges } from './status-changes.ts';
import { stopSignal } from './stop-signal.ts';

/** Arguments of `status`. */
interface StatusCall extends InstallLine {
  readonly watch: boolean;
  readonly steps: boolean;
}

/**
 * Shows the state of the run on this host, whether its agent still runs, and the effect of a
 * restart. With `--watch`, shows each change until the run ends; with `--steps`, each step of the
 * journal. Resolves with 0, or with the exit code of a signal.
 * @throws AgentError `cli.status-not-found` if there is no readable status; `cli.not-installed` if
 * a watched run did not succeed
 */
export async function runStatus(call: StatusCall): Promise<number> {
  const { config } = await loadConfig(call.argv, call.environment);
  await requireHost(config.host.root);
  const isJson = call.format === 'json';
  if (call.steps) {
    await printSteps(config, isJson);
    return 0;
  }
  if (call.watch) return follow(config, isJson);
  const shown = await readShown(config);
  if (isJson) printJson({ v: 1, ...shown });
  else print(renderStatus(shown, Date.now()));
  return 0;
}

async function readShown(config: Config): Promise<ShownStatus> {
  const status = await readRunStatus(config);
  return { status, agent: agentOf(status), restart: await restartOf(config, status.role) };
}

/** The agent writes progress at most once a second too. */
const pause = seconds(1);

/** Prints changes until the run ends or a signal arrives. */
async function follow(config: Config, isJson: boolean): Promise<number> {
  using stop = stopSignal();
  let before: RunStatus | undefined;
  let isGone = false;
  while (!stop.signal.aborted) {
    const shown = await readShown(config);
    const { status, agent } = shown;
    const isNew = status.run !== before?.run || status.updated !== before.updated;
    // The document of `status` in one line.
    if (isJson && isNew) print(`${JSON.stringify({ v: 1, ...shown })}\n`);
    else if (!isJson) printAt(statusChanges(before, status));
    if (isHostInstalled('this host', status)) return 0;
    // Between the two reads, the agent may have written its last status and ended.
    if (isGone && agent !== 'running')
      throw cliFailure('cli.not-installed', `this host ${stateLine(shown, Date.now())}`);
    isGone = agent !== 'running';
    before = status;
    await systemClock.sleep(pause, stop.signal).catch(() => undefined);
  }
  return stop.endCode();
}

/**
 * Reads the status of the last agent on this host.
 * @throws AgentError `cli.status-not-found`
 */
export async function readRunStatus(config: Config): Promise<RunStatus> {
  const path = statusPath;
  const text = await readJournalFile(config.host.root, path).catch((cause: unknown) => {
    throw cliFailure('cli.status-not-found', `${path} cannot be read`, { cause });
  });
  if (text === undefined) throw cliFailure('cli.status-not-found', `${path} is not there`);
  const status = RunStatus.safeParse(jsonIn(text)).data;
  if (status === undefined) throw cliFailure('cli.status-not-found', `${path} is not a status`);
  return status;
}

/** State of a run's process; rebooted: the host has rebooted since. */
type AgentState = 'running' | 'gone' | 'rebooted';

/**
 * The output of the command; `--format json` adds the version of this form, `v`. A field is never
 * removed within one version.
 */
export interface ShownStatus {
  readonly status: RunStatus;
  readonly agent: AgentState;
  readonly restart: Restart;
}

/** The state of the agent that wrote a status. */
export function agentOf({ process }: RunStatus): AgentState {
  if (process === undefined) return 'gone';
  if (processIdentity()?.bootId !== process.bootId) return 'rebooted';
  const found = processIdentity(process.pid);
  return found?.startTicks === process.startTicks ? 'running' : 'gone';
}

/**
 * The effect of a role's next run, from the journal alone; assumes the same flags.
 * @param ran name of the last run's role
 */
export async function restartOf(config: Config, ran: string): Promise<Restart> {
  const { root } = config.host;
  const text = (await readJournalFile(root, journalPath).catch(() => undefined)) ?? '';
  const lines = text.split('\n').filter((line) => line !== '');
  const found = parseJournal(lines)?.header;
  const role = allRoles.find(({ name }) => name === ran) ?? chooseRole(config);
  const bootId = await kernelText(root, 'random/boot_id');
  const header = { type: 'header', v: 1, fingerprint: '', ...found, role: role.name } as const;
  return decideRestart({ lines, header: { ...header, version, bootId } }, role, config);
}

/** The status for people. */
export function renderStatus({ status, agent, restart }: ShownStatus, now: number): string {
  const { role, steps, ended } = status;
  const width = Math.max(0, ...status.running.map(({ step }) => step.length));
  const lines = [
    `${role}, bootwright ${status.version}: ${stateLine({ status, agent }, now)}`,
    `${ended} of ${steps} steps ended`,
    ...status.running.flatMap((step) => stepLines(step, width, now)),
    ...(agent === 'running' ? [] : nextLines(status, restart)),
  ];
  return lines.map((line) => `${' '.repeat(line.search(/\S|$/))}${plainLine(line)}\n`).join('');
}

const renderSince = (at: number, now: number): string => renderDuration(Math.max(0, now - at));

/** The state of a run, in one line. */
export function stateLine(
  { status, agent }: Pick<ShownStatus, 'status' | 'agent'>,
  now: number,
): string {
  const { state, since, updated, reason, process } = status;
  const last = `${renderSince(updated, now)} ago`;
  if (state !== 'running') return `${state} ${last}${reason === undefined ? '' : `: ${reason}`}`;
  if (agent === 'running')
    return `running for ${renderSince(since, now)}, process ${process?.pid ?? '?'}, last event ${last}`;
  const why = agent === 'rebooted' ? 'the host has rebooted since' : 'its process is gone';
  return `ended unexpectedly, ${why}; last event ${last}`;
}

function stepLines(running: RunningStep, width: number, now: number): readonly string[] {
  const { step, title, since, attempt, info, percent, bytesPerSecond, remaining, wait } = running;
  const details = [title, `for ${renderSince(since, now)}`];
  if (attempt > 1) details.push(`attempt ${attempt}`);
  if (percent !== undefined) details.push(`${percent}%`);
  if (info !== undefined && info !== `${percent}%`) details.push(info);
  if (bytesPerSecond !== undefined) details.push(`${(bytesPerSecond / 1e6).toFixed(1)} MB/s`);
  if (remaining !== undefined) details.push(`${renderDuration(remaining)} left`);
  const line = `${step.padEnd(width)}  ${details.join(', ')}`;
  if (wait === undefined) return [line];
  return [line, ' '.repeat(width + 2) + renderWait(wait, Math.max(0, now - wait.since))];
}

/** The next action on a host whose agent has ended. */
function nextLines({ state, cluster, code }: RunStatus, restart: Restart): readonly string[] {
  if (state === 'left the host') return ['the host starts from its disk'];
  const isOfService = cluster !== undefined;
  const lines = restartLines(restart, isOfService && code !== undefined && isKnownToService(code));
  if (state !== 'stopped' || !isOfService) return lines;
  return [
    ...lines,
    `if the service stopped this run, it refuses a restart until the cluster is reset: ${resetCall(cluster)}`,
  ];
}

/**
 * The next run, for people; all lines but the first are indented.
 * @param isRefused the service has heard of the failure of the run
 */
export function restartLines(restart: Restart, isRefused: boolean): readonly string[] {
  if (isRefused) {
    const isUntouched = restart.kind === 'resume' && restart.reused === 0;
    const disk = isUntouched ? 'nothing is destroyed yet; ' : '';
    return [`${disk}the service refuses a restart until its cluster is reset`];
  }
  if (restart.kind === 'fresh') return ['a restart would begin at the first step'];
  if (restart.kind === 'set-aside')
    return [`a restart would begin at the first step: ${restart.because}`];
  const { reused, next } = restart;
  if (next.length === 0) return ['a restart would find every step finished'];
  if (reused === 0) return ['a restart would begin at the first step: nothing is destroyed yet'];
  return [
    `without a reboot, a restart with the same flags would keep what ${reused} steps did, and continue with:`,
    ...next.map(({ id }) => `  ${id}`),
  ];
}

/**
 * Prints each step of the last run on this host from its journal. An installed system that is
 * mounted at `host.root` has the journal too.
 * @throws AgentError `cli.journal-not-found` if there is no readable journal
 */
async function printSteps(config: Config, isJson: boolean): Promise<void> {
  const path = journalPath;
  const text = await readJournalFile(config.host.root, path).catch((cause: unknown) => {
    throw cliFailure('cli.journal-not-found', `${path} cannot be read`, { cause });
  });
  if (text === undefined) throw cliFailure('cli.journal-not-found', `${path} is not there`);
  const journal = parseJournal(text.split('\n'));
  if (journal === undefined) {
    throw cliFailure('cli.journal-not-found', `${path} is not a journal`);
  }
  print(isJson ? renderJournalJson(journal) : renderJournalText(journal));
}

/** A journal as it was read. */
type ReadJournal = NonNullable<ReturnType<typeof parseJournal>>;

/** Steps of a journal, the ended ones with their duration in milliseconds. */
const journalledSteps = (entries: readonly JournalEntry[]) =>
  Object.values(stepsInJournal(entries)).map(({ step, state, attempt, since, until, failure }) => ({
    step,
    state,
    attempts: attempt,
    since,
    ...(until === undefined ? {} : { duration: Math.max(0, until - since) }),
    ...(failure === undefined ? {} : { failure: plainLine(`${failure.code}: ${failure.message}`) }),
  }));

type JournalledStep = ReturnType<typeof journalledSteps>[number];

/** A journal for people: one line for each step. */
export function renderJournalText({ header, entries }: ReadJournal): string {
  const steps = journalledSteps(entries);
  const width = Math.max(0, ...steps.map(({ step }) => step.length));
  return [headerLine(header), ...steps.map((step) => stepLine(step, width)), '']
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A journal for programs. */
export function renderJournalJson({ header, entries }: ReadJournal): string {
  const { role, version, fingerprint, bootId } = header;
  const steps = journalledSteps(entries);
  return jsonText({ v: 1, role, version, fingerprint, bootId, steps });
}

const headerLine = ({ role, version, bootId, fingerprint }: JournalHeader): string =>
  `${role}, bootwright ${version}, boot ${bootId}, configuration ${fingerprint.slice(0, 12)}`;

const marks: Partial<Record<JournalledStep['state'], string>> = {
  running: '…',
  finished: '✓',
  failed: '✗',
  stopped: '·',
};

function stepLine(step: JournalledStep, width: number): string {
  const facts = [
    step.state === 'running' ? 'did not finish' : step.state,
    ...(step.duration === undefined ? [] : [renderDuration(step.duration)]),
    ...(step.attempts > 1 ? [`started ${step.attempts} times`] : []),
    ...(step.failure === undefined ? [] : [step.failure]),
  ];
  const at = new Date(step.since).toISOString();
  return `${marks[step.state] ?? ''} ${at}  ${step.step.padEnd(width)}  ${facts.join(', ')}`;
}
