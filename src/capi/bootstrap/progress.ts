import { plainLine } from '../../lib/plain-text.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { type LadderName, ladders, stageLimits, stages } from '../../model/stage.ts';
import type { BootstrapConfigStatus, HostProgress } from '../api.ts';

/** A report of a stage, as an agent sends it. */
export interface ReportedStage {
  readonly stage: string;
  readonly info: string;
}

/** What becomes of a report. */
export type ProgressDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed'; readonly progress: HostProgress }
  /** In the words of assisted-service (`UpdateInstallProgress`), by which an agent knows what it is refused for. */
  | { readonly kind: 'refused'; readonly reason: string };

interface ProgressContext {
  readonly ladder: LadderName;
  readonly now: number;
  /** Whether the host reports this itself: one that starts again begins another attempt. */
  readonly isOwn: boolean;
}

/** Longest text of a host that is shown. */
const longestMessage = 1024;

/** Percentages are written at most so often, unless they rise by so much. */
const percentsApart = { time: seconds(1), points: 5 } as const;

/**
 * Decides what a report does to the progress of a host. A stage never goes back, unless a further attempt begins; stages and
 * failures are never dropped, percentages that follow each other quickly are.
 */
export function decideProgress(
  before: HostProgress | undefined,
  report: ReportedStage,
  context: ProgressContext,
): ProgressDecision {
  const { stage } = report;
  if (before?.stage === 'Done' && stage !== 'Done')
    return refused(`Can't set progress <${stage}> to host in status <installed>`);
  if (stage === 'Failed') return failed(before, report, context);
  const ladder: readonly string[] = ladders[context.ladder];
  if (!ladder.includes(stage))
    return refused(`Stages ${stage} isn't available for host role ${context.ladder}`);
  const isAnother = beginsAgain(before, stage, context);
  if (before !== undefined && !isAnother && isLower(before.stage, stage, ladder))
    return refused(
      `Can't assign lower stage "${stage}" after host has been in stage "${before.stage}"`,
    );
  const attempt = (before?.attempt ?? 1) + (isAnother ? 1 : 0);
  return moved(before, { ...textOf(report.info), stage, attempt }, context.now);
}

/** Of a host that has failed, others know nothing better than itself. */
const isLower = (before: string, stage: string, ladder: readonly string[]): boolean =>
  before === 'Failed' || ladder.indexOf(stage) < ladder.indexOf(before);

const refused = (reason: string): ProgressDecision => ({ kind: 'refused', reason });

function beginsAgain(
  before: HostProgress | undefined,
  stage: string,
  { ladder, isOwn }: ProgressContext,
): boolean {
  if (before === undefined || !isOwn) return false;
  return before.stage === 'Failed' || (stage === ladders[ladder][0] && before.stage !== stage);
}

/** The stage in which it failed stays in front of the reason. */
function failed(
  before: HostProgress | undefined,
  { info }: ReportedStage,
  { now }: ProgressContext,
): ProgressDecision {
  const at = before?.stage === 'Failed' ? failedStageOf(before) : before?.stage;
  const message = plainLine(at === undefined ? info : `${at}: ${info}`, longestMessage);
  return moved(before, { stage: 'Failed', message, attempt: before?.attempt ?? 1 }, now);
}

/** The stage in which a host failed; undefined where it had reported none. */
export const failedStageOf = ({ message = '' }: HostProgress): string | undefined =>
  stages.find((stage) => message.startsWith(`${stage}: `));

type Position = Pick<HostProgress, 'stage' | 'attempt' | 'percent' | 'message'>;

function moved(before: HostProgress | undefined, to: Position, now: number): ProgressDecision {
  const updatedAt = new Date(now).toISOString();
  const isSameStage = before?.stage === to.stage && before.attempt === to.attempt;
  if (before === undefined || !isSameStage)
    return { kind: 'changed', progress: { ...to, stageStartedAt: updatedAt, updatedAt } };
  if (before.percent === to.percent && before.message === to.message) return { kind: 'unchanged' };
  if (isTooSoon(before, to, now)) return { kind: 'unchanged' };
  const { stageStartedAt } = before;
  return { kind: 'changed', progress: { ...to, stageStartedAt, updatedAt } };
}

function isTooSoon(before: HostProgress, to: Position, now: number): boolean {
  if (to.percent === undefined || before.percent === undefined || to.percent === 100) return false;
  const { time, points } = percentsApart;
  const since = now - Date.parse(before.updatedAt);
  // A clock that was set back says nothing.
  return since >= 0 && since < time && Math.abs(to.percent - before.percent) < points;
}

function textOf(info: string): Pick<HostProgress, 'percent' | 'message'> {
  const [, digits] = /^(\d{1,3})%$/.exec(info) ?? [];
  const percent = Number(digits);
  if (digits !== undefined && percent <= 100) return { percent };
  const message = plainLine(info, longestMessage);
  return message === '' ? {} : { message };
}

/** When a host that says nothing more is lost; undefined where nothing is expected of it. */
export function lostAt({ progress }: BootstrapConfigStatus): Millis | undefined {
  if (progress === undefined) return undefined;
  const limits: Readonly<Record<string, Millis>> = stageLimits;
  const at = Date.parse(progress.updatedAt) + (limits[progress.stage] ?? Number.NaN);
  return Number.isFinite(at) ? at : undefined;
}
