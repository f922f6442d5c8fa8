import { onTestFinished } from 'vitest';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import { installationControllers } from '../../src/controllers/installation/installation.ts';
import type { NewCluster } from '../../src/controllers/installation/new-cluster.ts';
import {
  type ControllerPorts,
  type ProgramScope,
  runStep,
  type StepScope,
} from '../../src/controllers/installation/scope.ts';
import type { RunEventBody } from '../../src/engine/events.ts';
import { startControllers } from '../../src/kube/manager.ts';
import { type FakeClock, fakeClock } from './fake-clock.ts';
import { fakeHost } from './fake-host.ts';
import { fakeInventory } from './fake-inventory.ts';
import { fakeKube } from './fake-kube.ts';
import { fakeRandom } from './fake-random.ts';

/** Inputs of the controller; the default of a port is an empty fake. */
interface InstallationRun extends Partial<ControllerPorts> {
  readonly config?: ConfigInput;
  readonly cluster?: Partial<NewCluster>;
  readonly signal?: AbortSignal;
}

/** Notes and waits so far. */
interface Said {
  /** Notes as `level: message`. */
  readonly notes: readonly string[];
  /** Statuses of waits, in order. */
  readonly statuses: readonly string[];
}

/** The settings of a controller in a test. */
export const installationConfig = (config: ConfigInput = {}): ProgramScope['config'] => ({
  ...Config.parse({ service: { url: 'https://service.test' }, ...config }),
  namespace: 'assisted-installer',
});

function scopeOf(run: InstallationRun, clock: ProgramScope['clock'], events: RunEventBody[]) {
  const { kube = fakeKube(), random = fakeRandom() } = run;
  const emit = (event: RunEventBody): void => void events.push(event);
  return {
    clock,
    kube,
    random,
    emit,
    config: installationConfig(run.config),
    adminKube: run.adminKube ?? kube,
    inventory: run.inventory ?? fakeInventory(),
    host: run.host ?? fakeHost({ clock }),
  };
}

const saidIn = (events: readonly RunEventBody[]): Said => ({
  notes: events.flatMap((event) =>
    event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
  ),
  statuses: events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
});

/** The default content of an install-config. */
export const newCluster = (change: Partial<NewCluster> = {}): NewCluster => ({
  isAgentBased: false,
  controlPlaneReplicas: 0,
  arbiterReplicas: 0,
  ...change,
});

/** Runs a step of an installation to its end, successful or not. */
export async function tryInstallationStep<T>(
  work: (scope: StepScope) => Promise<T>,
  run: InstallationRun,
): Promise<Said & { readonly value?: T; readonly failure?: unknown }> {
  const events: RunEventBody[] = [];
  const { signal = new AbortController().signal } = run;
  const scope = { ...scopeOf(run, run.clock ?? fakeClock(), events), signal };
  try {
    const value = await runStep(scope, 'tested', 'A step that is tested', work);
    return { ...saidIn(events), value };
  } catch (failure) {
    return { ...saidIn(events), failure };
  }
}

/** Runs the named controllers of an installation until they are stopped. */
export function runInstallation(only: readonly string[], run: InstallationRun) {
  const { clock = fakeClock({ auto: false }) } = run;
  const events: RunEventBody[] = [];
  const stop = new AbortController();
  const scope = { ...scopeOf(run, clock, events), signal: stop.signal };
  const all = installationControllers(scope, newCluster(run.cluster));
  const controllers = all.filter(({ id }) => only.includes(id.replace('controller/', '')));
  const ended = startControllers(scope, { name: 'controller', controllers }).catch(
    (error: unknown) => error,
  );
  const end = async (reason: Error): Promise<Said> => {
    stop.abort(reason);
    await ended;
    return saidIn(events);
  };
  onTestFinished(() => void end(new Error('the test is over')));
  return {
    clock: clock as FakeClock,
    /** Names of the running controllers. */
    ids: all.map(({ id }) => id),
    said: () => saidIn(events),
    stop: (reason = new Error('the controller ends')) => end(reason),
  };
}
