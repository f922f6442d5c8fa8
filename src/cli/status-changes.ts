import { waitText } from '../engine/run-steps.ts';
import { plainLine } from '../lib/plain-text.ts';
import type { RunningStep, RunStatus } from '../reporting/run-status.ts';
import { cliFailure } from './failures.ts';

/**
 * A line for each change between two statuses of a host: the start of a run, of a step or of an
 * attempt, the reason of a wait, each tenth of a step's progress, and the end of the run.
 * @param before undefined if no status of the host was known
 */
export function statusChanges(before: RunStatus | undefined, now: RunStatus): readonly string[] {
  const old = before?.run === now.run ? before : undefined;
  const { role, version, steps, ended, state, reason } = now;
  return [
    ...(old === undefined
      ? [`${role}, bootwright ${version}: ${ended} of ${steps} steps ended`]
      : []),
    ...now.running.flatMap((step) =>
      stepChanges(
        old?.running.find((one) => one.step === step.step),
        step,
      ),
    ),
    ...(state === 'running' || state === old?.state
      ? []
      : [reason === undefined ? state : `${state}: ${reason}`]),
  ].map((line) => plainLine(line));
}

function stepChanges(before: RunningStep | undefined, now: RunningStep): readonly string[] {
  const { step, title, attempt } = now;
  const old = before?.attempt === attempt ? before : undefined;
  const begins = `${title}${attempt > 1 ? `, attempt ${attempt}` : ''}`;
  return [...(old === undefined ? [begins] : []), ...progressOf(old, now), ...waitOf(old, now)].map(
    (line) => `${step}: ${line}`,
  );
}

function progressOf(before: RunningStep | undefined, now: RunningStep): readonly string[] {
  const { percent, info } = now;
  if (percent === undefined || tenths(percent) <= tenths(before?.percent)) return [];
  return [`${percent}%${info === undefined || info === `${percent}%` ? '' : `, ${info}`}`];
}

const tenths = (percent = 0): number => Math.floor(percent / 10);

function waitOf(before: RunningStep | undefined, { wait }: RunningStep): readonly string[] {
  if (wait === undefined) return [];
  const isSame = before?.wait?.sentence === wait.sentence && before.wait.status === wait.status;
  return isSame ? [] : [waitText(wait)];
}

/**
 * Whether a status says that the host is installed; false while its run continues. A host says so
 * before it reboots; no other sign counts.
 * @param who the host, for the message
 * @throws AgentError `cli.not-installed` if its run ended otherwise
 */
export function isHostInstalled(who: string, { state, reason }: RunStatus): boolean {
  if (state === 'running') return false;
  if (state === 'finished' || state === 'left the host') return true;
  const why = reason === undefined ? state : `${state}: ${reason}`;
  throw cliFailure('cli.not-installed', plainLine(`${who} ${why}`));
}
