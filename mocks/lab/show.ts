// Shows a run to whoever started the lab.
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import wrapAnsi from 'wrap-ansi';
import type { LabOptions } from './options.ts';
import { type LabPage, openLabPage, type PageHeading } from './page.ts';
import {
  type HostReport,
  isInstalled,
  type LabReport,
  outcomeWords,
  shortImage,
} from './report.ts';
import { changesOf, type ShownRun } from './shown-run.ts';

/** What a run is given by those who watch it. */
interface Watched {
  readonly signal: AbortSignal;
  readonly watch: (run: ShownRun & { readonly folder: string }) => () => void;
}

/** Shows a run while it continues, tells its end, and gives the exit code. */
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
        const ends = [printChanges(run, stdout), page.watch(run)];
        return () => {
          for (const end of ends) end();
        };
      },
    });
    const width = stdout.isTTY ? stdout.columns || PLAIN_COLUMNS : undefined;
    stdout.write(summaryOf(report, { keeps, width }));
    await page.end(report);
    if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    await leavePage(page, signal);
    return report.isAsExpected ? 0 : 1;
  } finally {
    await clearUp(folder, keeps);
  }
}

/** Lets whoever sits at the terminal read a page that is served, until Ctrl-C. */
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
 * Aborted when whoever started the lab stops it. A second signal does not end the cleaning up
 * behind the first: a terminal sends one to each process, and a parent may pass its own on.
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

/** How wide a terminal is that does not say so. */
const PLAIN_COLUMNS = 100;

/** Where a line stands for each change, a percentage is none. */
const withoutPercent = (doing: string): string =>
  doing.replaceAll(/\s+/g, ' ').replace(/^[^;]*: \d+ %; /, '');

/** Prints a line for each change of the cluster and of a host; the page shows more. */
function printChanges(run: ShownRun, output: NodeJS.WriteStream): () => void {
  const printed = new Map<string, string>();
  const showRun = (what: string, line: string): void => {
    if (printed.get(what) === line) return;
    printed.set(what, line);
    const seconds = ((Date.now() - run.startedAt) / 1000).toFixed(1);
    output.write(`${seconds.padStart(6)} s  ${line}\n`);
  };
  const print = (): void => {
    const { cluster, rows, beside } = changesOf(run);
    showRun('cluster', `cluster ${cluster}`);
    for (const { host, role, stage: at, doing, isShown } of rows) {
      const more = isShown ? `, ${withoutPercent(doing)}` : '';
      if (at !== '') showRun(host, `${host} ${role}: ${at}${more}`);
    }
    if (beside !== undefined) showRun('', beside);
  };
  const timer = setInterval(print, POLL_INTERVAL_MILLIS);
  return () => {
    clearInterval(timer);
    print();
  };
}

/** Steps of a host that are worth a word. */
const SHOWN_STEPS = 3;

/**
 * The end of a run in words: each host, then where the time went, then what differs.
 * @param shown whether the files of the hosts stay, and the width of the terminal, whose lines end
 * between words; a pipe has none
 */
export function summaryOf(
  report: LabReport,
  shown: { readonly keeps: boolean; readonly width?: number | undefined },
): string {
  const { scenario, outcome, seconds, hosts, differences, operators } = report;
  const { keeps, width } = shown;
  const isMissed = outcome === 'installed' && !isInstalled(report);
  const unavailable = isMissed ? operators : [];
  return [
    '',
    `${scenario}: ${outcomeWords(report)} after ${seconds.toFixed(1)} s`,
    ...unavailable.map(
      ({ name, status, info }) => `  operator ${name} never became available: ${info || status}`,
    ),
    '',
    ...hosts.flatMap((host) => hostLines(host, keeps)),
    ...layeringLines(report.layering),
    ...dayLines(report.dayAfter),
    ...timeLines(hosts),
    '',
    ...(differences.length === 0
      ? ['as expected']
      : ['not as expected:', ...differences.map((one) => `  ${one}`)]),
    '',
  ]
    .flatMap((line) => (width === undefined ? [line] : wrapped(line, width)))
    .join('\n');
}

function hostLines(host: HostReport, keeps: boolean): readonly string[] {
  const { name, role, seconds, outcome, boots, stage, agentStarts, idleSeconds } = host;
  const facts = [
    `${name} (${role}) ${outcomeText(host)} after ${seconds.toFixed(1)} s`,
    outcome === 'done' ? plural(boots, 'boot') : `last stage: ${stage || 'none'}`,
    ...(idleSeconds === undefined || !isLong(idleSeconds)
      ? []
      : [`idle ${idleSeconds.toFixed(1)} s`]),
  ];
  return [
    `  ${facts.join(', ')}`,
    ...[
      ...(outcome === 'done' ? systemWords(host) : []),
      ...(agentStarts > 1 ? [`the agent was started ${agentStarts} times`] : []),
      ...host.waited
        .filter(({ seconds }) => isLong(seconds))
        .map((wait) => `waited ${wait.seconds.toFixed(1)} s: ${wait.for}`),
      ...(host.secondAgent === undefined ? [] : [`a second agent: ${host.secondAgent.code}`]),
      ...failureLines(host, keeps),
    ].map((text) => `      ${text}`),
  ];
}

/** Whether a time is more than nothing when it is shown with one digit. */
const isLong = (seconds: number): boolean => seconds >= 0.05;

/** A line as lines of a width, each with its indent; a word that is longer stays whole. */
export function wrapped(line: string, width: number): readonly string[] {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return wrapAnsi(line.trimStart(), Math.max(1, width - indent.length))
    .split('\n')
    .map((part) => `${indent}${part}`.trimEnd());
}

const outcomeTexts: Readonly<Record<HostReport['outcome'], string>> = {
  done: 'is a node',
  failed: 'failed',
  stopped: 'was stopped by the service',
  live: 'started from the live medium again',
  unfinished: 'did not finish',
};
const outcomeText = ({ outcome }: HostReport): string => outcomeTexts[outcome];

/** Files of the hosts are removed with the run, unless they are kept. */
const failureLines = ({ failure }: HostReport, keeps: boolean): readonly string[] =>
  failure === undefined
    ? []
    : [
        `${failure.code}: ${failure.message}`,
        ...(failure.hint === undefined ? [] : [`next: ${failure.hint}`]),
        ...(failure.logs === undefined
          ? []
          : [`logs: ${keeps ? failure.logs : 'removed with the run; --keep keeps them'}`]),
      ];

const systemWords = ({ system }: HostReport): readonly string[] =>
  system === undefined ? [] : [`runs ${shortImage(system)}`];

function layeringLines(layering: LabReport['layering']): readonly string[] {
  if (layering === undefined) return [];
  const { images, registries } = layering;
  return [
    '',
    ...images.flatMap(({ pool, image, ...bytes }) => [
      `  image of pool ${pool}:`,
      `    ${image}`,
      ...pulledWords(bytes),
    ]),
    ...registries.map(
      ({ registry, pulls, pushes, refused }) =>
        `  ${registry}: ${pulls} pulls, ${pushes} pushes, ${refused} refused`,
    ),
  ];
}

function dayLines(day: LabReport['dayAfter']): readonly string[] {
  if (day === undefined) return [];
  const { nodes, seconds, layerStatus } = day;
  return [
    '',
    `the day after, ${seconds.toFixed(1)} s:`,
    ...nodes.map(
      ({ name, image, restarts, awaySeconds }) =>
        `  ${name} runs ${shortImage(image)}, away ${awaySeconds.toFixed(1)} s, ${plural(restarts, 'restart')}`,
    ),
    '',
    'bootwright layer status while a node could not be drained:',
    ...layerStatus.trimEnd().split('\n'),
  ];
}

/** Where layers are real: what came over the network, and what there was to come. */
const pulledWords = ({
  pulledBytes,
  newBytes = 0,
}: {
  readonly pulledBytes?: number | undefined;
  readonly newBytes?: number | undefined;
}): readonly string[] =>
  pulledBytes === undefined
    ? []
    : [`    hosts pulled ${pulledBytes} bytes of it; its new layers have ${newBytes}`];

const plural = (count: number, word: string): string =>
  count === 1 ? `one ${word}` : `${count} ${word}s`;

/** Steps of all hosts by their longest time: the longest first. */
function timeLines(hosts: readonly HostReport[]): readonly string[] {
  const longest = new Map<string, { readonly seconds: number; readonly host: string }>();
  for (const { name, steps } of hosts) {
    for (const { step, seconds } of steps.filter((one) => isLong(one.seconds))) {
      if (seconds > (longest.get(step)?.seconds ?? 0)) longest.set(step, { seconds, host: name });
    }
  }
  if (longest.size === 0) return [];
  const lines = [...longest]
    .toSorted(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, SHOWN_STEPS + 1)
    .map(
      ([step, { seconds, host }]) =>
        `  ${seconds.toFixed(1).padStart(6)} s  ${step} (longest on ${host})`,
    );
  return ['', 'longest steps:', ...lines];
}
