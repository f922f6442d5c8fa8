import type { HostReport, LabReport } from './report.ts';
import { shortImage } from './system-name.ts';

/** Steps of a host that are worth a word. */
const SHOWN_STEPS = 3;

/** The end of a run in words: each host, then where the time went, then what differs. */
export function summaryOf(report: LabReport): string {
  const { scenario, outcome, seconds, hosts, differences, clusterStatus } = report;
  return [
    '',
    `${scenario}: ${outcome} after ${seconds.toFixed(1)} s; the service says the cluster is ${clusterStatus}`,
    '',
    ...hosts.map(hostLine),
    ...layeringLines(report.layering),
    '',
    'where the time went:',
    ...timeLines(hosts),
    '',
    ...(differences.length === 0
      ? ['as expected']
      : ['not as expected:', ...differences.map((one) => `  ${one}`)]),
    '',
  ].join('\n');
}

function hostLine(host: HostReport): string {
  const words = [
    `${host.name} (${host.role}) ${outcomeText(host)} after ${host.seconds.toFixed(1)} s`,
    ...(host.outcome === 'done'
      ? [plural(host.boots, 'boot'), ...systemWords(host)]
      : [`last stage: ${host.stage || 'none'}`]),
    ...(host.agentStarts > 1 ? [`the agent was started ${host.agentStarts} times`] : []),
    ...(host.idleSeconds === undefined ? [] : [`idle ${host.idleSeconds.toFixed(1)} s`]),
    ...host.waited.map((wait) => `waited ${wait.seconds.toFixed(1)} s: ${wait.for}`),
    ...(host.secondAgent === undefined ? [] : [`a second agent: ${host.secondAgent.code}`]),
  ];
  return `  ${words.join('; ')}${failureText(host)}`;
}

const outcomeTexts: Readonly<Record<HostReport['outcome'], string>> = {
  done: 'is a node',
  failed: 'failed',
  stopped: 'was stopped by the service',
  live: 'started from the live medium again',
  unfinished: 'did not finish',
};
const outcomeText = ({ outcome }: HostReport): string => outcomeTexts[outcome];

const failureText = ({ failure }: HostReport): string =>
  failure === undefined
    ? ''
    : `\n    ${failure.code}: ${failure.message.replaceAll('\n', '\n    ')}`;

const systemWords = ({ system }: HostReport): readonly string[] =>
  system === undefined ? [] : [`runs ${shortImage(system)}`];

function layeringLines(layering: LabReport['layering']): readonly string[] {
  if (layering === undefined) return [];
  const { images, registries } = layering;
  return [
    '',
    ...images.flatMap(({ pool, image, ...bytes }) => [
      `  built for pool ${pool}: ${image}`,
      ...pulledWords(bytes),
    ]),
    ...registries.map(
      ({ registry, pulls, pushes, refused }) =>
        `  ${registry}: ${pulls} pulls, ${pushes} pushes, ${refused} refused`,
    ),
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
    for (const { step, seconds } of steps) {
      if (seconds > (longest.get(step)?.seconds ?? 0)) longest.set(step, { seconds, host: name });
    }
  }
  return [...longest]
    .toSorted(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, SHOWN_STEPS + 1)
    .map(
      ([step, { seconds, host }]) =>
        `  ${seconds.toFixed(1).padStart(6)} s  ${step} (longest on ${host})`,
    );
}
