// Shows a run to the user of the lab.
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import type { LabOptions } from './options.ts';
import { type LabPage, openLabPage, type PageHeading } from './page.ts';
import {
  CONTROLLER_LOGS,
  degradedOf,
  type HostReport,
  isMissed,
  type LabReport,
  operatorText,
  outcomeWords,
  shortImage,
} from './report.ts';
import { linesOf, type LogCommands, type ShownRun } from './shown-run.ts';

/** Inputs of the display of a run. */
interface Watched {
  readonly signal: AbortSignal;
  readonly watch: (run: ShownRun & { readonly folder: string }) => () => void;
}

/** Shows a running run and its end, and resolves with the exit code. */
export async function showRun(
  { report: file, keeps, isPage, pageFile }: LabOptions,
  heading: PageHeading,
  start: (watched: Watched) => Promise<LabReport>,
): Promise<number> {
  const { stdout } = process;
  const signal = stopSignal();
  await using page = await openLabPage(heading, { isServed: isPage, file: pageFile });
  if (page.url !== undefined) stdout.write(`page: ${page.url}\n\n`);
  let folder: string | undefined;
  try {
    const report = await start({
      signal,
      watch: (run) => {
        ({ folder } = run);
        const logs = logCommands(run.name, keeps ? folder : undefined);
        const ends = [printChanges(run, stdout), page.watch({ ...run, logs })];
        return () => {
          for (const end of ends) end();
        };
      },
    });
    stdout.write(summaryOf(report, keeps ? folder : undefined));
    await page.end(report);
    if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    await leavePage(page, signal);
    return report.isAsExpected ? 0 : 1;
  } finally {
    await clearUp(folder, keeps);
  }
}

/** Keeps a served page for the user at the terminal, until Ctrl-C. */
export async function leavePage({ url }: Pick<LabPage, 'url'>, signal: AbortSignal): Promise<void> {
  const { stdout } = process;
  if (url === undefined || !stdout.isTTY || signal.aborted) return;
  stdout.write(`page: ${url} until Ctrl-C\n`);
  await once(signal, 'abort');
}

async function clearUp(folder: string | undefined, keeps: boolean): Promise<void> {
  if (folder === undefined) return;
  if (keeps) process.stdout.write(`files of the hosts: ${folder}\n`);
  else await rm(folder, { recursive: true, force: true });
}

/**
 * Aborted when the user stops the lab. A second signal does not interrupt the cleanup after the
 * first: a terminal sends one to each process, and a parent may forward its own.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}

const POLL_INTERVAL_MILLIS = 100;

/** Prints a line for each change of the cluster and of a host; the page shows more. */
function printChanges(run: ShownRun, output: NodeJS.WriteStream): () => void {
  const printed = new Map<string, string>();
  const print = (): void => {
    for (const [about, line] of linesOf(run)) {
      if (printed.get(about) === line) continue;
      printed.set(about, line);
      const seconds = ((Date.now() - run.startedAt) / 1000).toFixed(1);
      output.write(`${seconds.padStart(6)} s  ${line}\n`);
    }
  };
  const timer = setInterval(print, POLL_INTERVAL_MILLIS);
  return () => {
    clearInterval(timer);
    print();
  };
}

/**
 * The command that reads the logs of a run whose files are in a folder; if the files are removed,
 * the command that keeps them.
 */
function logCommands(scenario: string, folder: string | undefined): LogCommands {
  const removed = `removed; scripts/lab --scenario ${scenario} --keep keeps them`;
  const read = (file: string): string =>
    folder === undefined ? removed : `scripts/bootwright logs read ${file}`;
  return { ofHost: read, ofController: read(`${folder ?? ''}/${CONTROLLER_LOGS}`) };
}

/** The end of a run in words: each host, images, and differences; the page shows more. */
export function summaryOf(report: LabReport, folder: string | undefined): string {
  const { scenario, seconds, hosts, layering, differences } = report;
  const took = `after ${seconds.toFixed(1)} s`;
  const logs = logCommands(scenario, folder);
  return [
    '',
    `${scenario}: ${outcomeWords(report)} ${isMissed(report) ? `(${took})` : took}`,
    ...(isMissed(report)
      ? [
          ...degradedOf(report).flatMap((one) => [
            `  operator ${operatorText(one)}: ${one.info}`,
            `  next: in a real cluster, oc describe clusteroperator ${one.name}`,
          ]),
          `  logs: ${logs.ofController}`,
        ]
      : []),
    '',
    ...failedFirst(hosts).flatMap((host) => hostLines(host, hosts, logs)),
    ...(layering?.images ?? []).flatMap(({ pool, image, newBytes = 0, pulledBytes }) => [
      `  image of pool ${pool}: ${image}`,
      ...(pulledBytes === undefined
        ? []
        : [`    hosts pulled ${pulledBytes} bytes of it; its new layers have ${newBytes}`]),
    ]),
    '',
    [differences.length === 0 ? 'as expected' : 'not as expected:', ...differences].join('\n  '),
    '',
  ].join('\n');
}

/** Hosts that failed by themselves come before those that the service stopped for them. */
const failedFirst = (hosts: readonly HostReport[]): readonly HostReport[] => [
  ...hosts.filter(isCause),
  ...hosts.filter((host) => !isCause(host)),
];

const isCause = ({ outcome, overdue }: HostReport): boolean =>
  outcome === 'failed' || overdue !== undefined;

/** A host that failed has its failure and its bundle; one that was stopped has only its log. */
function hostLines(
  host: HostReport,
  hosts: readonly HostReport[],
  { ofHost }: LogCommands,
): readonly string[] {
  const { name, role, seconds, outcome, boots, stage, failure, log, system = '' } = host;
  const boot = boots === 1 ? 'one boot' : `${boots} boots`;
  const end = outcome === 'done' ? boot : `last stage: ${stage || 'none'}`;
  const logs = outcome === 'stopped' ? log : failure?.logs;
  const causes = hosts.filter((one) => one.outcome === 'failed').map((one) => one.name);
  const isVictim = ['stopped', 'rebooted'].includes(outcome) && causes.length > 0;
  const more = [
    ...(outcome === 'done' && system !== '' ? [`runs ${shortImage(system)}`] : []),
    ...(failure === undefined ? [] : failureLines(failure)),
    ...overdueLines(host),
    ...(isVictim ? [`the cluster failed because of ${causes.join(', ')}`] : []),
    ...(logs === undefined ? [] : [`logs: ${ofHost(logs)}`]),
  ];
  return [
    `  ${name} (${role}) ${outcomeTexts[outcome]} after ${seconds.toFixed(1)} s, ${end}`,
    ...more.map((text) => `      ${text}`),
  ];
}

/** A host that the service failed at a limit has no failure of its own, but perhaps a wait. */
function overdueLines({ overdue, wait }: HostReport): readonly string[] {
  if (overdue === undefined) return [];
  return [
    `why: ${overdue}`,
    ...(wait === undefined ? [] : [`waited until ${wait}`]),
    'next: find the stage in docs/guides/when-it-hangs.md',
  ];
}

const failureLines = ({
  code,
  message,
  why,
  hint,
}: NonNullable<HostReport['failure']>): readonly string[] => [
  `${code}: ${message}`,
  ...(why === undefined ? [] : [`why: ${why}`]),
  ...(hint === undefined ? [] : [`next: ${hint}`]),
];

const outcomeTexts: Readonly<Record<HostReport['outcome'], string>> = {
  done: 'is a node',
  failed: 'failed',
  stopped: 'was stopped by the service',
  rebooted: 'rebooted into its disk',
  live: 'started from the live medium again',
  unfinished: 'did not finish',
};
