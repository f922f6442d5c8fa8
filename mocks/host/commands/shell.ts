// `sh -c` and `bash -c` with the few scripts that the agent gives them. Anything else is a command that the lab does
// not know.
import { type Call, fail, type Program, type Programs } from '../call.ts';
import type { Machine } from '../machine.ts';

const TRANSPOSE = 'ignition-ostree-transposefs.sh';
const ALLOWED_TO_FAIL = /\s*\|\|\s*true\s*$/;

/** Makes the shells, for programs that are looked up by name. */
export function shellPrograms(programNamed: (name: string) => Program | undefined): Programs {
  const shell: Program = async (machine, call) => {
    const [, option, script = ''] = call.argv;
    if (option !== '-c') return fail(call, `${call.argv[0] ?? ''}: only -c is in the lab`, 2);
    if (script.includes(TRANSPOSE)) return transpose(machine, call, script);
    const argv = script.replace(ALLOWED_TO_FAIL, '').trim().split(/\s+/);
    const program = programNamed(argv[0] ?? '');
    if (program === undefined || /[|;&<>$`]/.test(argv.join(' '))) {
      machine.unknown.push(script);
      return fail(call, `${call.argv[0] ?? ''}: ${script}: not in the lab`, 127);
    }
    const exitCode = await program(machine, { ...call, argv });
    return ALLOWED_TO_FAIL.test(script) ? 0 : exitCode;
  };
  return { sh: shell, bash: shell };
}

/**
 * The script of RHCOS that saves the root file system, makes it anew and restores it
 * (ignition-ostree-transposefs). It unmounts nothing itself.
 */
function transpose({ devices }: Machine, call: Call, script: string): number {
  const root = devices.all().find(({ entry }) => entry?.label === 'root');
  if (root === undefined) return fail(call, 'No filesystem labeled root found');
  const isMounted = devices.mounts.some(({ source }) => devices.byPath(source) === root);
  return isMounted && !script.endsWith('cleanup')
    ? fail(call, `mkfs.xfs: /dev/${root.kname} contains a mounted filesystem`)
    : 0;
}
