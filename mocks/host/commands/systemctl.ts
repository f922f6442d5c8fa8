import { type Call, fail, type Program, type Programs, sortWords, type Words } from '../call.ts';
import type { Machine } from '../machine.ts';
import type { Units, UnitState } from '../units.ts';

const withValue = ['--property', '-p', '--type', '-t', '--state', '--lines', '-n'];

interface UnitCall {
  readonly machine: Machine;
  readonly units: Units;
  readonly names: readonly string[];
  readonly words: Words;
  readonly call: Call;
}

const systemctl: Program = (machine, call) => {
  const { units } = machine;
  const words = sortWords(call.argv.slice(1), withValue);
  const [verb = '', ...names] = words.rest;
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  return run === undefined
    ? fail(call, `Unknown command verb '${verb}'.`)
    : run({ machine, units, names, words, call });
};

/** Waits for a slow unit, as the real one does, unless `--no-block` is given. */
async function start({ units, names, words, call }: UnitCall): Promise<number> {
  for (const name of names) {
    if (!units.start(name)) {
      return fail(call, `Failed to start ${name}: Unit ${name} not found.`, 5);
    }
  }
  if (words.has('--no-block')) return 0;
  for (const name of names) {
    if ((await units.settled(name, call.signal)) === 'failed') {
      return fail(
        call,
        `Job for ${name} failed because the control process exited with error code.\nSee "systemctl status ${name}" and "journalctl -xeu ${name}" for details.`,
      );
    }
  }
  return 0;
}

function stop({ units, names }: UnitCall): number {
  for (const name of names) units.stop(name);
  return 0;
}

const subStates: Readonly<Record<UnitState, string>> = {
  inactive: 'dead',
  activating: 'start',
  active: 'running',
  deactivating: 'stop',
  failed: 'failed',
};

const properties: Readonly<Record<string, (units: Units, name: string) => string>> = {
  ActiveState: (units, name) => units.stateOf(name),
  SubState: (units, name) => units.detailsOf(name).sub ?? subStates[units.stateOf(name)],
  NRestarts: (units, name) => String(units.detailsOf(name).restarts ?? 0),
  Result: (units, name) =>
    units.detailsOf(name).result ?? (units.stateOf(name) === 'failed' ? 'exit-code' : 'success'),
};

/** Prints `Name=value`, with a blank line between units. */
function show({ units, names, words, call }: UnitCall): number {
  const asked = words.all('--property', '-p').flatMap((one) => one.split(','));
  const blocks = names.map((name) =>
    (asked.length === 0 ? Object.keys(properties) : asked)
      .flatMap((property) => {
        const value = properties[property]?.(units, name);
        return value === undefined ? [] : [`${property}=${value}`];
      })
      .join('\n'),
  );
  call.out(`${blocks.join('\n\n')}\n`);
  return 0;
}

function status({ units, names, call }: UnitCall): number {
  for (const name of names) {
    if (!units.isKnown(name)) {
      return fail(call, `Unit ${name} could not be found.`, 4);
    }
    const state = units.stateOf(name);
    call.out(
      `${state === 'failed' ? '×' : '●'} ${name}\n     Loaded: loaded (/etc/systemd/system/${name}; static)\n     Active: ${state} (${subStates[state]})\n`,
    );
  }
  return names.every((name) => units.isActive(name)) ? 0 : 3;
}

const verbs: Readonly<Record<string, (of: UnitCall) => number | Promise<number>>> = {
  'list-units': ({ units, names, call }) => {
    for (const name of names.filter((one) => units.isActive(one))) {
      call.out(`  ${name} loaded active running ${name}\n`);
    }
    return 0;
  },
  show,
  status,
  stop,
  start,
  restart: (of) => {
    if (of.names.every((name) => of.units.isKnown(name))) stop(of);
    return start(of);
  },
  'reset-failed': ({ units, names }) => {
    for (const name of names.filter((one) => units.stateOf(one) === 'failed')) {
      units.become(name, 'inactive');
    }
    return 0;
  },
  'daemon-reload': () => 0,
  'is-system-running': ({ machine, call }) => {
    const isStopping = machine.reboot?.when === 'now';
    call.out(isStopping ? 'stopping\n' : 'running\n');
    return isStopping ? 1 : 0;
  },
  // As the real one: it returns at once, and the host goes down afterwards.
  reboot: ({ machine }) => {
    machine.reboot = { when: 'now', message: '' };
    return 0;
  },
};

/** `busctl monitor`: prints each change of a unit, until it is stopped. */
const busctl: Program = async ({ units }, call) => {
  const words = sortWords(call.argv.slice(1), ['--limit-messages', '--timeout']);
  if (!words.rest.includes('monitor')) return fail(call, 'busctl: only monitor is in the lab');
  const wanted = words.all('--match').flatMap((one) => /path='([^']*)'/.exec(one)?.[1] ?? []);
  call.err('Monitoring bus message stream.\n');
  const leave = units.follow(({ name, state }) => {
    const path = `/org/freedesktop/systemd1/unit/${busName(name)}`;
    if (wanted.length === 0 || wanted.includes(path)) call.out(signalText(path, state));
  });
  try {
    return await untilStopped(call);
  } finally {
    leave();
  }
};

const untilStopped = ({ signal }: Call): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });

/**
 * The signal of systemd as `busctl monitor` prints it (systemd 252), without parts that the agent
 * does not read.
 */
const signalText = (path: string, state: UnitState): string =>
  [
    '‣ Type=signal  Endian=l  Flags=1  Version=1',
    `  Sender=:1.1  Path=${path}  Interface=org.freedesktop.DBus.Properties  Member=PropertiesChanged`,
    '  MESSAGE "sa{sv}as" {',
    '          STRING "org.freedesktop.systemd1.Unit";',
    `          ARRAY "{sv}" { "ActiveState" "${state}"; "SubState" "${subStates[state]}"; };`,
    '  };',
    '',
    '',
  ].join('\n');

/** Everything but letters and digits is escaped in a path of the bus. */
const busName = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9]/g, (letter) => `_${letter.charCodeAt(0).toString(16)}`);

/** Programs that start, stop and watch units. */
export const unitPrograms: Programs = { systemctl, busctl };
