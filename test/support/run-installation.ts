import { onTestFinished } from 'vitest';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import { installationControllers } from '../../src/controllers/installation/controllers.ts';
import type { NewCluster } from '../../src/controllers/installation/new-cluster.ts';
import type { ControllerPorts } from '../../src/controllers/installation/step.ts';
import type { RunEventBody } from '../../src/engine/events.ts';
import { startControllers } from '../../src/kube/manager.ts';
import { type FakeClock, fakeClock } from './fake-clock.ts';
import { fakeInventory } from './fake-inventory.ts';
import { fakeKube } from './fake-kube.ts';
import { fakeRandom } from './fake-random.ts';

/** What controllers run with; a port that is not given is an empty fake. */
interface InstallationRun extends Partial<ControllerPorts> {
  readonly config?: ConfigInput;
  readonly cluster?: Partial<NewCluster>;
}

/** What controllers have said until now. */
interface Said {
  /** Notes as `level: message`. */
  readonly notes: readonly string[];
  /** What their waits have shown, in order. */
  readonly statuses: readonly string[];
}

/** Runs controllers of an installation, those that are named, until they are stopped. */
export function runInstallation(only: readonly string[], run: InstallationRun) {
  const { clock = fakeClock({ auto: false }), kube = fakeKube(), random = fakeRandom() } = run;
  const events: RunEventBody[] = [];
  const stop = new AbortController();
  const emit = (event: RunEventBody): void => void events.push(event);
  const service = { url: 'https://service.test' };
  const config = {
    ...Config.parse({ service, ...run.config }),
    namespace: 'assisted-installer',
  };
  const scope = {
    clock,
    kube,
    config,
    emit,
    adminKube: run.adminKube ?? kube,
    inventory: run.inventory ?? fakeInventory(),
  };
  const all = installationControllers(scope, { isAgentBased: false, platform: '', ...run.cluster });
  const controllers = all.filter(({ id }) => only.includes(id.replace('controller/', '')));
  const ended = startControllers(
    { kube, clock, random, emit, signal: stop.signal },
    { name: 'controller', controllers },
  ).catch((error: unknown) => error);
  const said = (): Said => ({
    notes: events.flatMap((event) =>
      event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
    ),
    statuses: events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
  });
  const end = async (reason: Error): Promise<Said> => {
    stop.abort(reason);
    await ended;
    return said();
  };
  onTestFinished(() => void end(new Error('the test is over')));
  return {
    clock: clock as FakeClock,
    /** Names of the controllers that run. */
    ids: all.map(({ id }) => id),
    said,
    stop: (reason = new Error('the controller ends')) => end(reason),
  };
}
