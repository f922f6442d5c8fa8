// The lab: runs a scenario with simulated hosts, or a virtual machine, and the real agent; see
// docs/lab.md.
import { type LabOptions, readOptions, usage } from '../mocks/lab/options.ts';
import { runScenario } from '../mocks/lab/run.ts';
import { grouped, hasCluster, listed, readScenario, scenarioNames } from '../mocks/lab/scenario.ts';
import { headingOf } from '../mocks/lab/page.ts';
import { showRun } from '../mocks/lab/show.ts';
import { failureText, outputStream } from '../src/cli/messages.ts';
import { AgentError } from '../src/model/failure.ts';
import { ensureBundle } from './bundle.ts';
import { kubeParts } from './api-server.ts';

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  if (options.isList) return list();
  // Modules for a management cluster or guests are loaded only if they are needed.
  if (options.isByCapi) {
    const { runByCapi } = await import('../test/capi/lab/run-by-capi.ts');
    return runByCapi(options, await bundleOf(options));
  }
  if (options.vm === undefined) return runSimulated(options);
  if (options.isWithoutService) {
    const { runWithoutService } = await import('../test/guest/lab/without-service.ts');
    return runWithoutService(options);
  }
  const { runInVirtualMachine } = await import('../test/guest/lab/run-in-guests.ts');
  return runInVirtualMachine(options, options.vm);
}

const bundleOf = ({ agent }: LabOptions): string | Promise<string> =>
  agent ?? ensureBundle((text) => process.stderr.write(text));

async function list(): Promise<number> {
  const names = await scenarioNames();
  const all = await Promise.all(
    names.map(async (name) => [name, await readScenario(name)] as const),
  );
  for (const { heading, scenarios } of grouped(all)) {
    process.stdout.write(`${heading}\n${'='.repeat(heading.length)}\n\n`);
    for (const [name, scenario] of scenarios) {
      process.stdout.write(listed(name, scenario));
    }
  }
  return 0;
}

async function runSimulated(options: LabOptions): Promise<number> {
  const scenario = await readScenario(options.scenario);
  const bundle = await bundleOf(options);
  const kube = hasCluster(scenario) ? await kubeParts() : undefined;
  process.stdout.write(`${scenario.title}. ${scenario.description}\n\n`);
  return showRun(options, headingOf(scenario), (watched) =>
    runScenario({ name: options.scenario, scenario, bundle, kube, ...watched }),
  );
}

/** Prints a refusal of the product in its own words. */
function textOf(error: unknown): string {
  if (error instanceof AgentError) return failureText(error);
  return `${error instanceof Error ? error.message : String(error)}\n`;
}

outputStream('stdout');
let hasEnded = false;
// Without it a process that has nothing left to wait for, or that some code ends, goes in silence.
process.on('exit', (code) => {
  if (hasEnded) return;
  process.stderr.write(`the lab ended before its scenario did (exit code ${code})\n`);
  process.exitCode = 2;
});

try {
  const exitCode = await main();
  // Output that could not be written has set its own.
  process.exitCode ??= exitCode;
} catch (error) {
  process.stderr.write(textOf(error));
  process.exitCode = 2;
}
hasEnded = true;
