// The lab: plays a scenario with simulated hosts and the real agent.
import { rm, writeFile } from 'node:fs/promises';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { failureText } from '../../src/cli/failure-text.ts';
import { runLayerLint } from '../../src/cli/layer/lint.ts';
import { AgentError } from '../../src/model/failure.ts';
import { clusterParts } from './cluster-parts.ts';
import { ensureBundle } from './bundle.ts';
import { type LabOptions, readOptions, usage } from './options.ts';
import { play } from './play.ts';
import { type LabReport, reportSchema } from './report.ts';
import { hasCluster, readScenario, scenarioNames } from './scenario.ts';
import { watchOn } from './screen.ts';
import { summaryOf } from './summary.ts';
import type { ShownStage } from './table.ts';
import { playInGuest } from './vm.ts';
import { playClusterInGuests } from './vm/cluster.ts';
import { type OsOrder, readOsOrder, refuseOrderFor } from './vm/os-order.ts';
import { guestPlan } from './vm/plan.ts';

const PLAIN_COLUMNS = 120;

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  if (options.isList) return list();
  if (options.isSchema) {
    process.stdout.write(`${JSON.stringify(reportSchema(), null, 2)}\n`);
    return 0;
  }
  return options.vm === undefined ? playScenario(options) : playGuests(options, options.vm);
}

async function list(): Promise<number> {
  for (const name of await scenarioNames()) {
    const { title } = await readScenario(name);
    process.stdout.write(`${name.padEnd(28)} ${title}\n`);
  }
  return 0;
}

async function playScenario(options: LabOptions): Promise<number> {
  const scenario = await readScenario(options.scenario);
  const bundle = options.agent ?? (await ensureBundle((text) => process.stderr.write(text)));
  if (hasCluster(scenario)) await ensureParts(clusterParts);
  process.stdout.write(`${scenario.title}. ${scenario.description}\n\n`);
  return tellOf(options, (watched) =>
    play({ name: options.scenario, scenario, bundle, ...watched }),
  );
}

async function playGuests(options: LabOptions, firmware: 'bios' | 'uefi'): Promise<number> {
  const { scenario: name, osConfig } = options;
  const plan = guestPlan(name, await readScenario(name));
  const { kind, scenario } = plan;
  if (osConfig !== undefined) {
    refuseOrderFor(plan, name);
    // Its findings are told on standard output.
    if ((await runLayerLint([osConfig])) !== 0) return 2;
  }
  const order = osConfig === undefined ? undefined : await readOsOrder(osConfig);
  const hosts = scenario.hosts.map((host) => `${host.name} (${host.role})`).join(', ');
  process.stdout.write(
    [
      `${scenario.title} in virtual machines: ${hosts}.`,
      `Each starts from a live system by ${firmware}, is installed by the real agent with the real`,
      'coreos-installer, and starts from its own disk.',
      ...(order === undefined ? [] : [orderWords(order)]),
      '\n',
    ].join('\n'),
  );
  return tellOf(options, (watched) =>
    kind === 'cluster'
      ? playClusterInGuests({ name, scenario, firmware, ...watched })
      : playInGuest({ firmware, order, ...watched }),
  );
}

const orderWords = ({ file, pushSpec }: OsOrder): string =>
  `The image of ${file} is built meanwhile; it goes to a registry of the lab, and not to ${pushSpec}.`;

interface Watched {
  readonly signal: AbortSignal;
  readonly watch: (stage: ShownStage & { readonly folder: string }) => () => void;
}

/** Shows a play while it goes on, tells its end, and gives the exit code. */
async function tellOf(
  { report: file, keeps }: LabOptions,
  start: (watched: Watched) => Promise<LabReport>,
): Promise<number> {
  const { stdout } = process;
  const watch = watchOn({
    write: (text) => stdout.write(text),
    isTerminal: stdout.isTTY,
    columns: stdout.isTTY ? stdout.columns : PLAIN_COLUMNS,
  });
  let folder: string | undefined;
  try {
    const report = await start({
      signal: stopSignal(),
      watch: (stage) => {
        ({ folder } = stage);
        return watch(stage);
      },
    });
    stdout.write(summaryOf(report));
    if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    return report.isAsExpected ? 0 : 1;
  } finally {
    await clearUp(folder, keeps);
  }
}

async function clearUp(folder: string | undefined, keeps: boolean): Promise<void> {
  if (folder === undefined) return;
  if (keeps) process.stdout.write(`files of the hosts: ${folder}\n`);
  else await rm(folder, { recursive: true, force: true });
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}

/** What the product refuses is told in its own words. */
function textOf(error: unknown): string {
  if (error instanceof AgentError) return failureText(error);
  return `${error instanceof Error ? error.message : String(error)}\n`;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(textOf(error));
  process.exitCode = 2;
}
