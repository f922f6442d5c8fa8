import { outputStream } from './cli/messages.ts';
import { start } from './cli/program/start.ts';

const { writeFileSync } = process.getBuiltinModule('node:fs');
const { setSourceMapsSupport } = process.getBuiltinModule('node:module');

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
  // Stack traces show lines of the sources. The maps of the start alone would take a third of it,
  // those of the controller megabytes for as long as it runs.
  beforeCommand: () => setSourceMapsSupport(true),
  loadCommands: () => import('./cli/program/commands.ts'),
  loadProgram: (of) => {
    if (of === 'install') setSourceMapsSupport(true);
    return import('./cli/program/program.ts');
  },
});
// Output that could not be written has set its own.
process.exitCode ??= exitCode;
