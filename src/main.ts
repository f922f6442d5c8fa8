import { start } from './cli/start.ts';

const { existsSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { setSourceMapsSupport } = process.getBuiltinModule('node:module');

/** Writes at once: to set up the streams of a process takes a tenth of its start. */
function print(descriptor: 1 | 2, text: string): void {
  try {
    writeFileSync(descriptor, text);
  } catch {
    (descriptor === 1 ? process.stdout : process.stderr).write(text);
  }
}

process.exitCode = await start({
  argv: process.argv.slice(2),
  environment: process.env,
  print: (text) => print(1, text),
  printError: (text) => print(2, text),
  fileExists: existsSync,
  report: async (request) => {
    const { sendFirstReport } = await import('./cli/first-report.ts');
    return sendFirstReport(request);
  },
  loadProgram: (command) => {
    if (command === 'controller') preferMemory();
    // Stack traces show lines of the sources. The maps of the start alone would take a third of it.
    else setSourceMapsSupport(true);
    return import('./cli/program.ts');
  },
});

/**
 * Makes V8 interpret what it would compile, and collect garbage sooner: the compilers' own code takes nine megabytes, once it
 * has run. A controller mostly waits. Its stack traces show the lines of the program as it is built.
 */
function preferMemory(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  const flags = ['optimize-for-size', 'no-sparkplug', 'no-maglev', 'no-turbofan'];
  for (const flag of flags) setFlagsFromString(`--${flag}`);
}
