import type { OsDeployment, OsStatus } from '../../os/status.ts';
import { nextOf } from '../../os/status.ts';
import { argumentsIn } from '../../os/kernel-arguments.ts';
import type { Sight } from '../../steps/os/facts.ts';

const width = 12;

/** The operating system of a host as people read it. */
export function renderStatusText({ driver, reason, status, commandLine }: Sight): string {
  const next = nextOf(status);
  return [
    line('driver', `${driver}: ${reason}`),
    line('boots next', next === undefined ? 'what runs now' : nameOf(next)),
    ...named(status).flatMap(([name, deployment]) => ['', ...linesOf(name, deployment)]),
    '',
    line('kernel', argumentsIn(commandLine).join(' ')),
    ...(status.isBusy ? [line('busy', 'a change is under way')] : []),
    '',
  ].join('\n');
}

/** The same for programs. Fields are added in later versions, none is taken away. */
export const renderStatusJson = ({ driver, reason, status, commandLine }: Sight): string =>
  `${JSON.stringify(
    { driver, reason, ...status, kernelArguments: argumentsIn(commandLine) },
    undefined,
    2,
  )}\n`;

const named = ({
  booted,
  staged,
  pending,
  rollback,
  others,
}: OsStatus): readonly (readonly [string, OsDeployment])[] =>
  (
    [
      ['staged', staged],
      ['pending', pending],
      ['booted', booted],
      ['rollback', rollback],
      ...others.map((other) => ['other', other] as const),
    ] as const
  ).flatMap(([name, deployment]) =>
    deployment === undefined ? [] : [[name, deployment] as const],
  );

function linesOf(name: string, deployment: OsDeployment): readonly string[] {
  const { digest, version, checksum, isPinned } = deployment;
  return [
    line(name, nameOf(deployment)),
    ...(digest === undefined ? [] : [line('  digest', digest)]),
    ...(version === undefined ? [] : [line('  version', version)]),
    line('  commit', checksum),
    ...(isPinned ? [line('  pinned', 'yes')] : []),
  ];
}

const nameOf = ({ image, checksum }: OsDeployment): string => image ?? `commit ${checksum}`;

const line = (left: string, right: string): string => `${left.padEnd(width)}${right}`.trimEnd();
