import { pathOnHost } from '../../adapters/host-root.ts';
import { fileJournal } from '../../adapters/journal.ts';
import { processIdentity, statusFile } from '../../adapters/status-file.ts';
import { journalPath, statusPath } from '../../config/complete.ts';
import { fingerprintOf, installNotes, type LoadedConfig } from '../../config/load.ts';
import { notesOf, type Sink } from '../../engine/events.ts';
import { asAgentError, changedFailure, reportOf } from '../../engine/failures.ts';
import type { Journal } from '../../engine/journal.ts';
import { activeSteps, type Role } from '../../engine/role.ts';
import { runRole } from '../../engine/run.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { hintWithReset, isKnownToService, resetCall } from '../../model/reset.ts';
import { type Masker, maskerFor } from '../../lib/masker.ts';
import { version } from '../../model/version.ts';
import { Reporter } from '../../reporting/reporter.ts';
import { type RunHistory, runHistoryOf } from '../../reporting/run-history.ts';
import { type RunStatus, runStatusOf } from '../../reporting/run-status.ts';
import { chooseRole } from '../../roles/choose.ts';
import type { InstallWorld } from '../../steps/step.ts';
import { openWorld, type RunWorld } from '../install-world.ts';
import { exitCodeOf, failureText, printError } from '../messages.ts';
import { hostRole } from '../../steps/conditions.ts';
import { installFailures, withdrawal } from '../../steps/host/confirm-installation.ts';
import { hideSaved } from '../../steps/ignition/fetch-host.ts';
import { cliFailure } from '../failures.ts';
import { readBootId } from '../../steps/host-commands.ts';
import type { StopSignal } from '../stop-signal.ts';

/**
 * Installs this host and resolves with the exit code: 0, the code of the failure's kind, or 128
 * plus the number of the signal that stopped it. Writes a failure to standard error, masked, with
 * the path of its logs.
 * @throws AgentError `web.bad-authority`, which is not reported to the service
 */
export async function install(loaded: LoadedConfig, stop: StopSignal): Promise<number> {
  const { config } = loaded;
  const secrets = maskerFor(config);
  const { mask } = secrets;
  const opened = await openWorld(config, { environment: process.env, mask });
  let bundle: string | undefined;
  try {
    await using world = opened;
    const run = { stop, loaded, role: chooseRole(config), world, secrets };
    const history = runHistoryOf(world.hub.run);
    world.hub.add(history.sink);
    try {
      await runAlone(run);
    } catch (thrown) {
      bundle = await leaveBundle(run, history.read(), thrown);
      throw thrown;
    }
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    // If a stop arrives while the logs of a failure are collected, the failure is still printed.
    if (exitCode === undefined || thrown !== stop.signal.reason) {
      printError(failureText(thrown, mask));
      if (bundle !== undefined) printError(`logs: ${bundle}\n`);
    }
    return exitCode ?? exitCodeOf(thrown);
  }
}

/**
 * Writes the logs of a failed run to the host and resolves with their path. The service has the
 * report of the failure by then, so an error here is only a warning. A stop does not wait for the
 * logs. A run that another agent owns gets no bundle.
 */
async function leaveBundle(
  { loaded, role, world, secrets, stop }: Run,
  history: RunHistory,
  failure: unknown,
): Promise<string | undefined> {
  const { ports, hub } = world;
  if (stop.exitCode() !== undefined) return undefined;
  if (asAgentError(failure).code === 'cli.already-running') return undefined;
  try {
    const { collectLogs } = await import('../logs/collect.ts');
    const { signal } = stop;
    return await collectLogs({ loaded, role, ports, history, end: { failure }, secrets, signal });
  } catch (thrown) {
    if (stop.exitCode() !== undefined) return undefined;
    const { code, message: reason } = asAgentError(thrown);
    const note = notesOf(hub.emit, 'logs/collect');
    note('warn', 'the logs of this failure are not kept', { code, reason });
    return undefined;
  }
}

interface Run {
  readonly stop: StopSignal;
  readonly loaded: LoadedConfig;
  readonly role: Role<InstallWorld>;
  readonly world: RunWorld;
  readonly secrets: Masker;
}

/** Runs the role unless another agent is running on this host. */
async function runAlone(run: Run): Promise<void> {
  const { loaded, role, stop } = run;
  const { ports, hub } = run.world;
  const { mask } = run.secrets;
  const { config } = loaded;
  const { root } = config.host;
  const { inventory, clock } = ports;
  const { infraEnvId, hostId } = config.cluster;
  const isReported = !config.service.url.isEmpty && hostId !== '';
  const explain = (failure: AgentError): AgentError =>
    isReported ? withReset(failure, config.cluster.id) : failure;
  const halt = new AbortController();
  const reporter = new Reporter({
    ladder: role.ladder,
    clock,
    emit: hub.emit,
    mask,
    send: async (report, signal) => {
      if (isReported) await inventory.report({ infraEnvId, hostId }, report, signal);
    },
    listedHost: async (signal) =>
      (await inventory.hosts(hostRole(config), signal)).find(({ id }) => id === hostId),
    onRefused: (status) => {
      const failure = withdrawal(config, status);
      if (failure !== undefined) halt.abort(failure);
    },
  });
  hub.add(reporter.sink);
  const note = notesOf(hub.emit, 'config/load');
  for (const text of installNotes(loaded)) note('warn', text);
  const journal = fileJournal(await pathOnHost(root, journalPath));
  const status = statusFile(await pathOnHost(root, statusPath));
  try {
    const bootId = await setUp(run, { reporter, journal, explain });
    const process = processIdentity();
    const known = {
      ...(process === undefined ? {} : { process }),
      ...(isReported ? { cluster: config.cluster.id } : {}),
    };
    hub.add(statusSink([status.show, run.world.showStatus], activeSteps(role, config), known));
    await runRole({
      role,
      config,
      ports: { ...ports, reports: reporter },
      clock,
      journal,
      header: { version, fingerprint: fingerprintOf(config), bootId },
      run: hub.run,
      sinks: [hub.sink],
      signal: stop.signal,
      halt: halt.signal,
      beforeLeaving: async (signal) => {
        await reporter.flush(signal);
        // The answer to the last report has just arrived, and may have been a refusal.
        halt.signal.throwIfAborted();
        stop.ignore();
      },
      mask,
      hide: run.secrets.register,
      explain,
    });
  } catch (thrown) {
    // The reporter itself may have failed, and so missed the event of the failure.
    reporter.fail(reportOf(asAgentError(thrown)));
    throw thrown;
  } finally {
    // The report of a failure or of the end may take a minute; a stop leaves five seconds.
    const { refusedIn } = await reporter.flush(stop.signal);
    if (stop.exitCode() !== undefined && refusedIn !== undefined)
      note('warn', stoppedByService(refusedIn, config.cluster.id));
    reporter.close();
    await journal.close();
    await status.close();
  }
}

/**
 * Message of a run that a signal stopped after the service had taken its host back
 * (assisted-service, `stop-installation`).
 */
const stoppedByService = (status: string, clusterId: string): string =>
  `the inventory service has stopped this run: it has this host in status ${status}; reset the cluster there before another run (${resetCall(clusterId)})`;

/** The failure of a host behind a service, with what the service wants before another run. */
function withReset(failure: AgentError, clusterId: string): AgentError {
  const { code, hint } = failure;
  if (!isKnownToService(code) || Object.hasOwn(installFailures, code)) return failure;
  return changedFailure(failure, { hint: hintWithReset(hint, clusterId) });
}

/** Interval between updates of progress in the status file; other changes are written at once. */
const progressEvery = seconds(1);

/**
 * Shows the status of the run as it changes: in the file that `bootwright status` reads, and to
 * remote watchers.
 */
function statusSink(
  shows: readonly ((text: string) => void)[],
  active: readonly string[],
  known: Pick<RunStatus, 'process' | 'cluster'>,
): Sink {
  const follow = runStatusOf(new Set(active));
  let shownAt = Number.NEGATIVE_INFINITY;
  return (event) => {
    const status = follow(event);
    if (status === undefined) return;
    if (event.type === 'step.progress' && event.at - shownAt < progressEvery) return;
    shownAt = event.at;
    const text = JSON.stringify({ ...status, ...known });
    for (const show of shows) show(text);
  };
}

interface RunParts {
  readonly reporter: Reporter;
  readonly journal: Journal;
  readonly explain: (failure: AgentError) => AgentError;
}

/** Prepares a run, and resolves with the id of the boot. Errors are reported as in a step. */
async function setUp(
  { loaded, world, secrets, stop }: Run,
  { reporter, journal, explain }: RunParts,
): Promise<string> {
  const { hub, ports } = world;
  const { clock, host } = ports;
  const since = clock.elapsed();
  try {
    // A run that is being stopped takes the lock too: only the holder of the lock may report that
    // this host failed.
    const lock = await host.lock('bootwright-agent', new AbortController().signal);
    if (lock === undefined) {
      // The other agent continues, and sends the reports of this host.
      reporter.close();
      throw cliFailure('cli.already-running', 'another agent is running on this host');
    }
    reportStop(stop.signal, reporter);
    stop.signal.throwIfAborted();
    const bootId = await readBootId(host, stop.signal);
    if ((await journal.read()).length > 0) {
      if (loaded.isFresh) await journal.setAside();
      const { signal } = stop;
      await hideSaved({ host, signal, hide: secrets.register }, loaded.config);
    }
    return bootId;
  } catch (thrown) {
    const { aborted } = stop.signal;
    const error = aborted ? asAgentError(stop.signal.reason) : explain(asAgentError(thrown));
    const failure = reportOf(error);
    const duration = clock.elapsed() - since;
    hub.emit(
      aborted
        ? { type: 'run.stopped', reason: failure.message, duration }
        : { type: 'run.failed', failure, duration },
    );
    throw aborted ? stop.signal.reason : error;
  }
}

/** Reports a stop at once: the steps that it ends may take most of the remaining time. */
function reportStop(signal: AbortSignal, reporter: Reporter): void {
  const report = (): void => {
    reporter.fail(reportOf(asAgentError(signal.reason)));
  };
  if (signal.aborted) report();
  else signal.addEventListener('abort', report, { once: true });
}
