import { systemClock } from '../adapters/clock.ts';
import { fileJournal } from '../adapters/journal/file-journal.ts';
import { masker } from '../lib/masker.ts';
import { secretValues } from '../lib/secret-values.ts';
import { systemRandom } from '../adapters/random.ts';
import { fingerprintOf } from '../config/load.ts';
import type { RunHappening } from '../engine/events.ts';
import type { Role } from '../engine/role.ts';
import { runRole } from '../engine/run.ts';
import type { Host } from '../ports/host.ts';
import type { Ports } from '../ports/ports.ts';
import { type Reporter, reporterOf } from '../reporting/reporter.ts';
import { chooseRole } from '../roles/choose.ts';
import type { InstallWorld } from '../steps/step.ts';
import { type EventHub, eventHub, readBootId, type StopSignal, stopSignal } from './run-context.ts';
import { journalPathFor } from './early-report.ts';
import { exitCodeOf, failureText } from './messages.ts';
import { cliFailure } from './failures.ts';
import type { FirstReport, Install, InstallOptions, LoadedConfig } from './install-contract.ts';
import { portsOf } from './install-ports.ts';
import { sinksOf } from './install-sinks.ts';
import { version } from './commands.ts';

/** Installs this host; see `Install`. */
export const install: Install = async (loaded, options) => {
  using stop = stopSignal();
  const { config } = loaded;
  const role = chooseRole(config);
  const { mask, register } = masker();
  for (const secret of secretValues(config)) register(secret);
  const hub = eventHub(systemClock, systemRandom.uuid());
  const sinks = sinksOf(config, mask);
  for (const sink of sinks.list) hub.add(sink);
  let failure: string | undefined;
  try {
    const { ports, close } = portsOf(config, process.env, hub.emit);
    try {
      await runAlone({ loaded, options, role, ports, hub, stop, mask });
    } finally {
      await close();
    }
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = mask(failureText(thrown));
    return exitCodeOf(thrown);
  } finally {
    await sinks.close();
    if (failure !== undefined) process.stderr.write(failure);
  }
};

interface Run {
  readonly loaded: LoadedConfig;
  readonly options: InstallOptions;
  readonly role: Role<InstallWorld>;
  readonly ports: Ports;
  readonly hub: EventHub;
  readonly stop: StopSignal;
  readonly mask: (text: string) => string;
}

/** Runs the role unless another agent is running on this host. */
async function runAlone(run: Run): Promise<void> {
  const { loaded, options, role, ports, hub, stop, mask } = run;
  const { config } = loaded;
  await takeAgentLock(ports.host, stop.signal);
  const bootId = await readBootId(ports.host, stop.signal);
  const journal = fileJournal(journalPathFor(config));
  if (options.isFresh && (await journal.read()).length > 0) await journal.setAside();
  for (const note of loaded.notes) hub.emit(noteOf(note));
  const reporter = reporterFor(run, loaded.firstReport);
  hub.add(reporter.sink);
  try {
    await runRole({
      role,
      config,
      ports,
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

function reporterFor({ loaded, role, ports, hub, mask }: Run, early?: FirstReport): Reporter {
  const { service, cluster } = loaded.config;
  const host = { infraEnvId: cluster.infraEnvId, hostId: cluster.hostId };
  const isHeard = service.url !== '' && cluster.hostId !== '';
  return reporterOf({
    ladder: role.ladder,
    clock: ports.clock,
    send: async (report, signal) => {
      if (isHeard) await ports.inventory.report(host, report, signal);
    },
    emit: hub.emit,
    mask,
    ...(early === undefined ? {} : { early }),
  });
}

const noteOf = (message: string): RunHappening => ({
  type: 'note',
  step: 'config/load',
  level: 'warn',
  message,
  fields: {},
});
