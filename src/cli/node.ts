import { systemClock } from '../adapters/clock.ts';
import type { Environment } from '../config/environment.ts';
import { notesOf } from '../engine/events.ts';
import { argumentsIn, splitArguments } from '../os/kernel-arguments.ts';
import { nextOf, type OsDeployment, type OsStatus } from '../os/status.ts';
import type { Host } from '../ports/host.ts';
import { applyImage, applyRollback } from '../steps/os/apply.ts';
import { checkRequest } from '../steps/os/check-image.ts';
import type { CommandScope, NodeRequest, OsSnapshot } from '../steps/os/request.ts';
import { readHost } from '../steps/os/read-host.ts';
import { jsonText, print } from './messages.ts';
import { runningHost } from './running-host.ts';
import { printWaiting } from './waiting.ts';
import { withoutJournal } from './run-context.ts';

/** Arguments of the commands of `node`; each command has some of the options. */
interface NodeCall {
  /** `text` or `json`. */
  readonly format: string;
  /** Log at level debug. */
  readonly verbose: boolean;
  readonly record?: boolean;
  readonly reboot?: boolean;
  readonly appendKarg?: readonly string[];
  readonly deleteKarg?: readonly string[];
  /** Argument of `apply`: the pull spec of the image to boot next. */
  readonly values: readonly string[];
  readonly environment: Environment;
}

/** @throws AgentError `os.bad-image-name` before the host is contacted */
export async function runNodeApply(call: NodeCall): Promise<number> {
  checkRequest(requestOf(call));
  return await runNode(call, applyImage);
}

export const runNodeRollback = (call: NodeCall): Promise<number> => runNode(call, applyRollback);

/**
 * Runs one command of a node on the host behind PID 1, then prints the running and the next
 * deployment. The log goes to standard error. A signal ends the command with its exit code; the
 * host then boots the deployment that it would have booted before, or the staged one.
 */
async function runNode(
  call: NodeCall,
  change: (scope: CommandScope) => Promise<boolean>,
): Promise<number> {
  const level = call.verbose ? 'debug' : 'info';
  return withoutJournal({ level, stream: 'stderr' }, async ({ emit, signal }) => {
    const host = await runningHost(call.environment, emit);
    const reboots = await change({
      host,
      clock: systemClock,
      signal,
      note: notesOf(emit, id),
      progress: (progress) => emit({ type: 'step.progress', step: id, progress }),
      config: requestOf(call),
    });
    // A host that reboots prints nothing more.
    if (!reboots) await printHost(call, host, signal);
  });
}

/** The log names these commands so. */
const id = 'node/change';

const requestOf = ({ values, record, reboot, appendKarg, deleteKarg }: NodeCall): NodeRequest => ({
  image: values[0] ?? '',
  records: record === true,
  reboots: reboot === true,
  kernelArguments: askedArguments(appendKarg, deleteKarg),
});

/** The appended arguments then apply in the given order, also if some of them were set before. */
const askedArguments = (append: readonly string[] = [], gone: readonly string[] = []) => ({
  append: append.flatMap(splitArguments),
  everywhere: true,
  remove: [...gone, ...append].flatMap(splitArguments),
});

async function printHost({ format }: NodeCall, host: Host, signal: AbortSignal): Promise<void> {
  const snapshot = await printWaiting(
    () => 'what the host says of its operating system',
    () => readHost({ host, signal }),
  );
  print(format === 'json' ? renderStatusJson(snapshot) : renderStatusText(snapshot));
}

const width = 12;

/** The operating system of a host, for people. */
export function renderStatusText({ driver, reason, status, commandLine }: OsSnapshot): string {
  const next = nextOf(status);
  return [
    line('driver', `${driver}: ${reason}`),
    line('boots next', next === undefined ? 'the booted deployment' : nameOf(next)),
    ...named(status).flatMap(([name, deployment]) => ['', ...linesOf(name, deployment)]),
    '',
    line('kernel', argumentsIn(commandLine).join(' ')),
    ...(status.isBusy ? [line('busy', 'a transaction is in progress')] : []),
    '',
  ].join('\n');
}

/** The operating system of a host, for programs. Later versions add fields and remove none. */
export const renderStatusJson = ({ driver, reason, status, commandLine }: OsSnapshot): string =>
  jsonText({ driver, reason, ...status, kernelArguments: argumentsIn(commandLine) });

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
    ...(deployment.isLocked === true ? [line('  locked', 'a reboot leaves it out')] : []),
    ...(digest === undefined ? [] : [line('  digest', digest)]),
    ...(version === undefined ? [] : [line('  version', version)]),
    line('  commit', checksum),
    ...(isPinned ? [line('  pinned', 'yes')] : []),
  ];
}

const nameOf = ({ image, checksum }: OsDeployment): string => image ?? `commit ${checksum}`;

const line = (left: string, right: string): string => `${left.padEnd(width)}${right}`.trimEnd();
