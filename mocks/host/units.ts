import { once } from 'node:events';

/** The relevant states of a unit; systemd's `ActiveState`. */
export type UnitState = 'inactive' | 'activating' | 'active' | 'deactivating' | 'failed';

/** Further properties in the output of `systemctl show`; omitted ones follow from the state. */
interface UnitDetails {
  /** `auto-restart`, for a crashed unit that is about to be restarted. */
  readonly sub?: string;
  readonly result?: string;
  readonly restarts?: number;
}

interface UnitChange {
  readonly name: string;
  readonly state: UnitState;
}

/**
 * The behaviour of a unit from its start on, until the signal aborts because the unit was stopped.
 */
export type UnitBehaviour = (
  become: (state: UnitState, details?: UnitDetails) => void,
  signal: AbortSignal,
) => void | Promise<void>;

/** The units of a simulated host. */
export type Units = ReturnType<typeof unitsOf>;

/** Creates the units of one host. */
export function unitsOf(active: readonly string[], known: readonly string[] = []) {
  const states = new Map<string, UnitState>();
  const details = new Map<string, UnitDetails>();
  const running = new Map<string, AbortController>();
  const followers = new Set<(change: UnitChange) => void>();
  const onStart = new Map<string, UnitBehaviour>();
  const readers = new EventTarget();
  const become = (name: string, state: UnitState, how: UnitDetails = {}): void => {
    details.set(name, how);
    if (states.get(name) === state) return;
    states.set(name, state);
    for (const changed of followers) changed({ name, state });
  };
  const end = (name: string): void => {
    running.get(name)?.abort(new Error(`${name} was stopped`));
    running.delete(name);
  };
  const stateOf = (name: string): UnitState => states.get(name) ?? 'inactive';
  const follow = (changed: (change: UnitChange) => void): (() => void) => {
    followers.add(changed);
    return () => followers.delete(changed);
  };
  const reset = (nowActive: readonly string[], nowKnown: readonly string[]): void => {
    for (const name of [...running.keys()]) end(name);
    states.clear();
    for (const name of nowKnown) states.set(name, 'inactive');
    for (const name of nowActive) states.set(name, 'active');
  };
  reset(active, known);
  return {
    stateOf,
    detailsOf: (name: string): UnitDetails => {
      readers.dispatchEvent(new Event(name));
      return details.get(name) ?? {};
    },
    /** Resolves after the first read of the unit's state. */
    read: async (name: string, signal: AbortSignal): Promise<void> => {
      await once(readers, name, { signal });
    },
    isActive: (name: string): boolean => stateOf(name) === 'active',
    /** Whether the unit has a file, so that it can be started. */
    isKnown: (name: string): boolean => states.has(name),
    all: (): readonly UnitChange[] => [...states].map(([name, state]) => ({ name, state })),
    /** Adds units without a start. */
    add: (...names: readonly string[]): void => {
      for (const name of names) if (!states.has(name)) states.set(name, 'inactive');
    },
    /** Sets the behaviour of a unit after its start; without one it is active at once. */
    onStart,
    /** Starts a unit unless it runs; false if it is unknown. */
    start: (name: string): boolean => {
      if (!states.has(name)) return false;
      if (['active', 'activating'].includes(stateOf(name))) return true;
      const control = new AbortController();
      running.set(name, control);
      runLife(onStart.get(name), control.signal, (state, how) => {
        if (!control.signal.aborted) become(name, state, how);
      });
      return true;
    },
    stop: (name: string): void => {
      end(name);
      if (states.has(name)) become(name, 'inactive');
    },
    /** Sets the state of a unit from outside, as its own end would. */
    become,
    /** Resolves with the state of a unit once it is stable. */
    settled: (name: string, signal: AbortSignal): Promise<UnitState> =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (['activating', 'deactivating'].includes(stateOf(name))) return;
          leave();
          resolve(stateOf(name));
        };
        const leave = follow(check);
        signal.addEventListener('abort', () => {
          leave();
          reject(signal.reason as Error);
        });
        check();
      }),
    /** Calls back at each change; returns the function that ends this. */
    follow,
    /** Resets the units as after a start of the machine: only these run, others are removed. */
    reset,
  };
}

function runLife(
  life: UnitBehaviour | undefined,
  signal: AbortSignal,
  become: (state: UnitState, details?: UnitDetails) => void,
): void {
  if (life === undefined) {
    become('active');
    return;
  }
  // A unit whose behaviour throws has failed, unless it was stopped.
  Promise.resolve(life(become, signal)).catch(() => {
    become('failed');
  });
}
