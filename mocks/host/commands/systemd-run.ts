import { type Call, fail, type Program, type Programs } from '../call.ts';
import type { Machine } from '../machine.ts';
import { stat } from '../prompt-files.ts';
import { watchFile } from '../watch-file.ts';
import { sortWords } from './words.ts';

/** Makes `systemd-run`, for programs that are looked up by name. */
export function transientPrograms(programNamed: (name: string) => Program | undefined): Programs {
  const systemdRun: Program = (machine, call) => {
    const words = sortWords(call.argv.slice(1));
    const [unit = ''] = words.all('--unit');
    const [, path] =
      /^Path(?:Exists|Changed)=(.+)$/.exec(words.all('--path-property')[0] ?? '') ?? [];
    const program = programNamed(words.rest[0] ?? '');
    if (path === undefined || program === undefined) {
      return fail(call, 'systemd-run: only a program that waits for a path is in the lab');
    }
    const name = `${unit}.path`;
    if (machine.units.isActive(name)) {
      return fail(call, `Failed to start transient path unit: Unit ${name} was already loaded.`);
    }
    const argv = call.argv.slice(call.argv.indexOf(words.rest[0] ?? ''));
    machine.units.lives.set(name, (become, signal) => {
      become('active');
      return whenever({ machine, path, signal }, () => program(machine, { ...call, argv, signal }));
    });
    machine.units.add(name);
    machine.units.start(name);
    return 0;
  };
  return { 'systemd-run': systemdRun };
}

interface PathUnit {
  readonly machine: Machine;
  readonly path: string;
  readonly signal: Call['signal'];
}

/** Runs a program each time that a file is there, as systemd does. */
async function whenever(
  { machine: { files }, path, signal }: PathUnit,
  run: () => number | Promise<number>,
): Promise<void> {
  const place = await files.real(path);
  await watchFile({ files, path, signal }, () => {
    void stat(place).then(run, () => undefined);
  });
}
