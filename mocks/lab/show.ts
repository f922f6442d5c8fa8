// Shows a run to the user of the lab.
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { resetCall } from '../../src/model/reset.ts';
import type { LabOptions } from './options.ts';
import { type LabPage, openLabPage, type PageHeading } from './page.ts';
import {
  CONTROLLER_LOGS,
  degradedOf,
  type HostReport,
  isMissed,
  type LabReport,
  MISSED_NOTES,
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
  return folder === undefined
    ? { areKept: false, ofHost: () => removed, ofController: removed }
    : {
        areKept: true,
        ofHost: (bundle) => `scripts/bootwright logs read ${bundle}`,
        ofController: `scripts/bootwright logs read ${folder}/${CONTROLLER_LOGS}`,
      };
}

/** The end of a run in words: each host, images, and differences; the page shows more. */
export function summaryOf(report: LabReport, folder: string | undefined): string {
  const { scenario, seconds, hosts, layering, differences } = report;
  const hasMissed = isMissed(report);
  const took = `${seconds.toFixed(1)} s`;
  const logs = logCommands(scenario, folder);
  const verdict = differences.length === 0 ? 'as expected' : 'not as expected:';
  return [
    '',
    `${scenario}: ${outcomeWords(report)} ${hasMissed ? `(after ${took})` : `after ${took}`}`,
    ...(hasMissed ? missedLines(report, logs) : []),
    '',
    ...failedFirst(hosts).flatMap((host) => hostLines(host, hosts, logs)),
    ...(layering?.images ?? []).flatMap(({ pool, image, newBytes = 0, pulledBytes }) => [
      `  image of pool ${pool}: ${image}`,
      ...(pulledBytes === undefined
        ? []
        : [`    hosts pulled ${pulledBytes} bytes of it; its new layers have ${newBytes}`]),
    ]),
    '',
    [verdict, ...differences].join('\n  '),
    '',
  ].join('\n');
}

/** The degraded operators, and what to do, of a cluster whose hosts are nodes. */
const missedLines = (report: LabReport, logs: LogCommands): readonly string[] => [
  ...degradedOf(report).flatMap((operator) => [
    `  operator ${operatorText(operator)}: ${operator.info}`,
    `      next: oc describe clusteroperator ${operator.name}`,
  ]),
  `      ${logs.areKept ? 'next' : 'logs'}: ${logs.ofController}`,
  ...MISSED_NOTES.map((text) => `      note: ${text}`),
];

/** Hosts that failed by themselves come before those that they stopped. */
const failedFirst = (hosts: readonly HostReport[]): readonly HostReport[] => [
  ...hosts.filter(({ outcome }) => outcome === 'failed'),
  ...hosts.filter(({ outcome }) => outcome !== 'failed'),
];

function hostLines(
  host: HostReport,
  hosts: readonly HostReport[],
  logs: LogCommands,
): readonly string[] {
  const { name, role, seconds, outcome, boots, stage, agentStarts, failure, log } = host;
  const { secondAgent } = host;
  const boot = boots === 1 ? 'one boot' : `${boots} boots`;
  const end = outcome === 'done' ? boot : `last stage: ${stage || 'none'}`;
  const more = [
    ...(outcome === 'done' && host.system !== undefined ? [`runs ${shortImage(host.system)}`] : []),
    ...(agentStarts > 1 ? [`the agent was started ${agentStarts} times`] : []),
    ...(secondAgent === undefined ? [] : [`a second agent: ${secondAgent.code}`]),
    ...(host.endedBecause === undefined ? [] : [`the service: ${host.endedBecause}`]),
    ...(outcome === 'stopped' ? stoppedLines(hosts) : []),
    ...(outcome === 'rebooted' ? rebootedLines(host, hosts) : []),
    ...(outcome === 'stopped' && log !== undefined ? logLines(log, logs) : []),
    ...(failure === undefined ? [] : failureLines(failure, logs)),
    ...(outcome === 'done' ? [] : host.waits.map((wait) => `when it ended, it ${wait}`)),
  ];
  return [
    `  ${name} (${role}) ${outcomeTexts[outcome]} after ${seconds.toFixed(1)} s, ${end}`,
    ...more.map((text) => `      ${text}`),
  ];
}

/** An agent that is stopped has five seconds, and leaves no bundle. */
const logLines = (log: string, { areKept, ofHost }: LogCommands): readonly string[] => [
  'it has no bundle of logs, as the service gave it five seconds to stop; its log has all of its run',
  `${areKept ? 'next' : 'logs'}: ${ofHost(log)}`,
];

function failureLines(
  { code, message, why, hint, logs }: NonNullable<HostReport['failure']>,
  commands: LogCommands,
): readonly string[] {
  return [
    `${code}: ${message}`,
    ...(why === undefined ? [] : [`why: ${why}`]),
    ...(hint === undefined ? [] : [`next: ${hint}`]),
    ...(logs === undefined
      ? []
      : [`${commands.areKept ? 'next' : 'logs'}: ${commands.ofHost(logs)}`]),
  ];
}

/** The reason why the service withdrew a host, and the effect of starting its agent again. */
function stoppedLines(hosts: readonly HostReport[]): readonly string[] {
  const failed = hosts.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  return [
    ...(failed.length === 0 ? [] : [`the cluster failed because of ${failed.join(', ')}`]),
    `a restart would be refused until the cluster is reset at the service: ${resetCall()}`,
  ];
}

/** The state of a host that had rebooted into its disk before the installation failed. */
function rebootedLines({ stage }: HostReport, hosts: readonly HostReport[]): readonly string[] {
  const failed = hosts.filter(({ outcome }) => outcome === 'failed');
  // The bootstrap host serves the Ignition with which the others join.
  const canJoin = failed.every(({ role }) => role !== 'bootstrap');
  const names = failed.map(({ name }) => name).join(', ');
  const isSilent = names === '' && stage === 'Rebooting';
  return [
    ...(names === ''
      ? []
      : [`it cannot ${canJoin ? 'complete' : 'join'}, because ${names} failed`]),
    ...(isSilent ? ['it has not requested its Ignition: look at its console'] : []),
    `next: reset the cluster at the service, then install it again: ${resetCall()}`,
  ];
}

const outcomeTexts: Readonly<Record<HostReport['outcome'], string>> = {
  done: 'is a node',
  failed: 'failed',
  stopped: 'was stopped by the service',
  rebooted: 'rebooted into its disk',
  live: 'started from the live medium again',
  unfinished: 'did not finish',
};
