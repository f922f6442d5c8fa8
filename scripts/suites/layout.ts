import { type Output, runCommand } from './command.ts';
import { withMemory } from './memory.ts';

/**
 * Checks the layout of every file that has changed since it was last found good; resolves with
 * prettier's exit code. It remembers files by their content, the options and its version: what it
 * finds out about a file speaks of that file alone, so it stays true.
 */
export function checkLayout(output: Output): Promise<number> {
  return withMemory('layout.json', (file) => {
    const cache = ['--cache', '--cache-strategy=content', `--cache-location=${file}`];
    return runCommand(['prettier', '--check', '--log-level', 'warn', ...cache, '.'], output);
  });
}
