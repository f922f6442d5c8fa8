import { outputStream } from './cli/messages.ts';
import { start } from './cli/program/start.ts';

const { writeFileSync } = process.getBuiltinModule('node:fs');

/** Writes at once: to set up the streams of a process takes a tenth of its start. */
function print(descriptor: 1 | 2, text: string): void {
  try {
    writeFileSync(descriptor, text);
  } catch {
    outputStream(descriptor === 1 ? 'stdout' : 'stderr').write(text);
  }
}

const exitCode = await start({
  argv: process.argv.slice(2),
  environment: process.env,
  print: (text) => print(1, text),
  printError: (text) => print(2, text),
  loadCommands: () => import('./cli/program/commands.ts'),
  loadProgram: () => import('./cli/program/program.ts'),
});
// Output that could not be written has set its own.
process.exitCode ??= exitCode;
