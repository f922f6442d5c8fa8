import type { RunEventBody } from '../../engine/events.ts';
import { untilAborted } from '../../engine/wait.ts';
import type { Clock } from '../../ports/clock.ts';
import type { InstallationView, InstallingHost, Inventory } from '../../ports/inventory.ts';
import type { KubeRef, KubeSelection } from '../../ports/kube.ts';
import type { Gap, Informer } from '../../reconcile/informer.ts';
import { type Controllers, runControllers } from '../../reconcile/manager.ts';
import { noLimit } from '../../steps/reconcile.ts';
import type { ControllerScope } from '../../steps/controller/world.ts';

/** The cluster as the service shows it, in the way of an informer. */
export interface InstallationStore extends Pick<Informer, 'gap' | 'onGap' | 'run'> {
  readonly view: () => InstallationView;
  /** Called with the hosts that have come, changed or gone. */
  readonly onChange: (handler: (hosts: readonly InstallingHost[]) => void) => void;
}

interface StoreScope {
  readonly inventory: Pick<Inventory, 'follow'>;
  readonly clock: Pick<Clock, 'elapsed'>;
}

/** Follows the cluster at the service; it has a gap until the view is `enough`: a first answer, unless given. */
export function installationStore(
  { inventory, clock }: StoreScope,
  enough = ({ cluster }: InstallationView): boolean => cluster !== undefined,
): InstallationStore {
  const changed: ((hosts: readonly InstallingHost[]) => void)[] = [];
  const gapChanged: (() => void)[] = [];
  const since = clock.elapsed();
  let view: InstallationView = {};
  const gap = (): Gap | undefined =>
    enough(view) ? undefined : { reason: 'the service has not listed the hosts yet', since };
  return {
    view: () => view,
    gap,
    onGap: (handler) => void gapChanged.push(handler),
    onChange: (handler) => void changed.push(handler),
    run: (signal) =>
      inventory.follow((seen) => {
        const before = [view.cluster?.hosts ?? [], gap()] as const;
        view = seen;
        const hosts = changedHosts(before[0], seen.cluster?.hosts ?? []);
        if (hosts.length > 0) for (const handler of changed) handler(hosts);
        if (before[1]?.reason !== gap()?.reason) for (const handler of gapChanged) handler();
      }, signal),
  };
}

/** A host of which the service says the same as before is the same object. */
function changedHosts(
  before: readonly InstallingHost[],
  after: readonly InstallingHost[],
): readonly InstallingHost[] {
  const [known, ids] = [new Set(before), new Set(after.map(({ id }) => id))];
  const gone = before.filter(({ id }) => !ids.has(id));
  return [...after.filter((host) => !known.has(host)), ...gone];
}

/** Selects one object. */
export const selectionOf = ({ kind, name, namespace }: KubeRef): KubeSelection => ({
  kind,
  ...(namespace === undefined ? {} : { namespace }),
  fieldSelector: `metadata.name=${name}`,
});

type HostingScope = Pick<
  ControllerScope<'kube' | 'clock' | 'random'>,
  'kube' | 'clock' | 'random' | 'note' | 'until' | 'signal'
>;

/**
 * Runs controllers as a step of the role until that has ended; the step shows what the first of them waits for.
 * @throws the signal's reason, or what no informer can go on after
 */
export async function runInStep(
  { until, note, signal, ...ports }: HostingScope,
  sentence: string,
  controllers: Omit<Controllers, 'lease' | 'name'>,
): Promise<void> {
  const stop = new AbortController();
  let status = '';
  let changed = (): void => undefined;
  const emit = (event: RunEventBody): void => {
    if (event.type === 'note') note(event.level, event.message, event.fields);
    if (event.type !== 'wait.updated' || event.step !== controllers.controllers[0]?.id) return;
    status = event.status;
    changed();
  };
  const scope = { ...ports, emit, signal: AbortSignal.any([signal, stop.signal]) };
  const running = runControllers(scope, { name: 'controller', ...controllers });
  const waiting = until(sentence, () => Promise.resolve({ status }), {
    watch: (notify, watched) => {
      changed = notify;
      return untilAborted(watched);
    },
    within: noLimit,
  });
  try {
    await Promise.race([running, waiting]);
  } finally {
    stop.abort(signal.reason ?? new Error('the step has ended'));
    await running.catch(() => undefined);
  }
}
