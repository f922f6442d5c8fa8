import { withMemory } from './memory.ts';
import { type Output, runCommand, spaciously } from './command.ts';

/**
 * Checks the types of the whole program; resolves with the compiler's exit code. The compiler knows
 * from the last time which files cannot have changed theirs.
 */
export function checkTypes(output: Output): Promise<number> {
  return withMemory('types.tsbuildinfo', (file) =>
    // More than one checker means that what they share is checked more than once.
    runCommand(
      [
        ...spaciously,
        'tsc',
        '--noEmit',
        '--checkers',
        '1',
        '--incremental',
        '--tsBuildInfoFile',
        file,
      ],
      output,
    ),
  );
}
