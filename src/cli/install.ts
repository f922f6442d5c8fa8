import { fileJournal } from '../adapters/journal.ts';
import { journalPathFor } from '../config/complete.ts';
import { fingerprintOf, installNotes, type LoadedConfig } from '../config/load.ts';
import type { RunEventBody } from '../engine/events.ts';
import type { Role } from '../engine/role.ts';
import { runRole } from '../engine/run.ts';
import { masker } from '../lib/masker.ts';
import { secretValues } from '../lib/secret-values.ts';
import { version } from '../model/version.ts';
import type { Host } from '../ports/host.ts';
import { type EarlyReport, type Reporter, reporterOf } from '../reporting/reporter.ts';
import { chooseRole } from '../roles/choose.ts';
import type { InstallWorld } from '../steps/step.ts';
import { cliFailure } from './failures.ts';
import type { InstallCall } from './program.ts';
import { openWorld, type RunWorld } from './install-world.ts';
import { exitCodeOf, failureText } from './messages.ts';
import { readBootId, type StopSignal, stopSignal } from './run-context.ts';

/**
 * Installs this host and resolves with the exit code: 0, that of the failure's kind, or 128 and the
 * number of the signal that stopped it. A failure is written in three lines to standard error, masked.
 */
export async function install(loaded: LoadedConfig, early: InstallCall['early']): Promise<number> {
  using stop = stopSignal();
  const { config } = loaded;
  const role = chooseRole(config);
  const { mask, register } = masker();
  for (const secret of secretValues(config)) register(secret);
  try {
    const toService = early?.connection;
    await using world = await openWorld(config, { environment: process.env, mask, toService });
    await runAlone({ loaded, role, world, stop, early: early?.report });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    process.stderr.write(mask(failureText(thrown)));
    return exitCodeOf(thrown);
  }
}

interface Run {
  readonly loaded: LoadedConfig;
  readonly role: Role<InstallWorld>;
  readonly world: RunWorld;
  readonly stop: StopSignal;
  readonly early: EarlyReport | undefined;
}

/** Runs the role unless another agent is running on this host. */
async function runAlone(run: Run): Promise<void> {
  const { loaded, role, stop } = run;
  const { ports, hub, mask } = run.world;
  const { config, isFresh } = loaded;
  await takeAgentLock(ports.host, stop.signal);
  const bootId = await readBootId(ports.host, stop.signal);
  const journal = fileJournal(journalPathFor(config));
  if (isFresh && (await journal.read()).length > 0) await journal.setAside();
  for (const note of installNotes(loaded)) hub.emit(noteOf(note));
  const reporter = reporterFor(run);
  hub.add(reporter.sink);
  try {
    await runRole({
      role,
      config,
      ports: { ...ports, reports: reporter },
      clock: ports.clock,
      journal,
      header: { version, fingerprint: fingerprintOf(config), bootId },
      run: hub.run,
      sinks: [hub.sink],
      signal: stop.signal,
      beforeLeaving: reporter.flush,
      mask,
    });
  } finally {
    // A failure, or the end, is worth a minute; who stops us gives five seconds.
    await reporter.flush(stop.signal);
    reporter.close();
    await journal.close();
  }
}

/** @throws AgentError `cli.already-running` when another agent works on this host */
async function takeAgentLock(host: Host, signal: AbortSignal): Promise<void> {
  const lock = await host.lock('bootwright-agent', signal);
  if (lock === undefined) {
    throw cliFailure('cli.already-running', 'another agent is running on this host');
  }
}

function reporterFor({ loaded, role, world, early }: Run): Reporter {
  const { service, cluster } = loaded.config;
  const { ports, hub, mask } = world;
  const host = { infraEnvId: cluster.infraEnvId, hostId: cluster.hostId };
  const isReported = service.url !== '' && cluster.hostId !== '';
  return reporterOf({
    ladder: role.ladder,
    clock: ports.clock,
    send: async (report, signal) => {
      if (isReported) await ports.inventory.report(host, report, signal);
    },
    emit: hub.emit,
    mask,
    ...(early === undefined ? {} : { early }),
  });
}

const noteOf = (message: string): RunEventBody => ({
  type: 'note',
  step: 'config/load',
  level: 'warn',
  message,
  fields: {},
});
