import { isDeepStrictEqual } from 'node:util';
import { plainLine } from '../../lib/plain-text.ts';
import { type LadderName, ladders, type Stage, stageLimits, stages } from '../../model/stage.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { patchOf } from '../../kube/write.ts';
import {
  type BootstrapConfig,
  bootstrapConfigs,
  type BootstrapConfigStatus,
  type HostProgress,
} from '../api.ts';
import {
  findCondition,
  type NewCondition,
  pausedCondition,
  withConditions,
} from '../conditions.ts';
import { refTo } from '../objects.ts';
import { isConflict } from '../../ports/kube-failures.ts';
import { type Millis, seconds } from '../../model/duration.ts';

/** What a config waits for, or why it cannot be used. */
export interface DataSecretVerdict {
  readonly reason: string;
  readonly message: string;
}

/** What changes in a status; its conditions follow. */
export interface StatusChange extends Pick<
  BootstrapConfigStatus,
  'progress' | 'role' | 'hostID' | 'logSecretName'
> {
  /** The data Secret is there; never taken back. */
  readonly dataSecretName?: string;
  readonly dataSecret?: DataSecretVerdict;
  readonly isPaused?: boolean;
}

/**
 * Status of a config after a change. Both spellings of the contract's flag are set, and stay
 * (Cluster API, contract of bootstrap providers, v1beta1 and v1beta2).
 */
export function statusAfter(
  config: BootstrapConfig,
  { dataSecretName, dataSecret, isPaused, ...change }: StatusChange,
  now: number,
): BootstrapConfigStatus {
  const { status: before = {}, metadata } = config;
  const made =
    dataSecretName === undefined
      ? {}
      : { dataSecretName, ready: true, initialization: { dataSecretCreated: true } };
  const status: BootstrapConfigStatus = {
    ...before,
    ...made,
    ...change,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  };
  const conditions = [
    pausedCondition(isPaused === true),
    ...(isPaused === true ? [] : deriveConditions(status, { now, dataSecret })),
  ];
  const { generation } = metadata;
  const next = {
    ...status,
    conditions: withConditions(before.conditions, conditions, now, generation),
  };
  // Of a paused config nothing else changes.
  return isPaused === true ? { ...before, conditions: next.conditions } : next;
}

/**
 * All conditions that follow from the status of a config and the time: `DataSecretAvailable`,
 * `AgentReporting`, and `Ready`, which core mirrors to the Machine.
 */
export function deriveConditions(
  status: BootstrapConfigStatus,
  {
    now,
    dataSecret,
  }: { readonly now: number; readonly dataSecret?: DataSecretVerdict | undefined },
): readonly NewCondition[] {
  const available = dataSecretCondition(status, dataSecret);
  const isLost = now >= (lostAt(status) ?? Number.POSITIVE_INFINITY);
  return [available, reportingCondition(status, isLost), readyCondition(status, available, isLost)];
}

function dataSecretCondition(
  { initialization, conditions }: BootstrapConfigStatus,
  verdict: DataSecretVerdict | undefined,
): NewCondition {
  const type = 'DataSecretAvailable';
  // What changes later is for a host that has it already.
  if (initialization?.dataSecretCreated === true && verdict === undefined)
    return { type, status: 'True', reason: 'Available' };
  if (verdict !== undefined) return { type, status: 'False', ...verdict };
  const before = findCondition(conditions, type);
  return before ?? { type, status: 'False', reason: 'WaitingForMachine' };
}

/** Stages after which the host itself says nothing more. */
const silentStages: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
]);

function reportingCondition({ progress }: BootstrapConfigStatus, isLost: boolean): NewCondition {
  const type = 'AgentReporting';
  if (progress === undefined) return { type, status: 'False', reason: 'NotYet' };
  if (progress.stage === 'Done') return { type, status: 'True', reason: 'Installed' };
  const message = `last report ${progress.updatedAt}`;
  if (isLost) return { type, status: 'False', reason: 'Lost', message };
  const reason = silentStages.has(progress.stage) ? 'Rebooted' : 'Reporting';
  return { type, status: 'True', reason };
}

function readyCondition(
  { progress, logSecretName, initialization }: BootstrapConfigStatus,
  available: NewCondition,
  isLost: boolean,
): NewCondition {
  const [type, status] = ['Ready', 'False'] as const;
  if (progress === undefined) {
    if (initialization?.dataSecretCreated === true && available.status === 'True')
      return { type, status, reason: 'WaitingForAgent' };
    const { reason, message } = available;
    return { type, status, reason, ...(message === undefined ? {} : { message }) };
  }
  const message = shownProgress(progress);
  if (progress.stage === 'Done') return { type, status: 'True', reason: 'Installed' };
  if (progress.stage === 'Failed') {
    const place = logSecretName === undefined ? '' : ` (log: Secret ${logSecretName})`;
    return {
      type,
      status,
      reason: failureReason(progress),
      message: `${plainLine(message, 900)}${place}`,
    };
  }
  if (isLost) {
    const since = `no report since ${progress.updatedAt}`;
    return { type, status, reason: 'AgentLost', message: `${message}: ${since}` };
  }
  return { type, status, reason: reasonOf(progress.stage), message };
}

/** A stage as a reason: `Writing image to disk` is WritingImageToDisk. */
const reasonOf = (stage: string): string =>
  stage
    .split(' ')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** The progress of a host in one line, as `Writing image to disk 61% (attempt 2)`. */
export function shownProgress(progress: HostProgress): string {
  const { stage, percent, message = '', attempt } = progress;
  const again = attempt > 1 ? ` (attempt ${attempt})` : '';
  if (stage === 'Failed') {
    const failedAt = failedStageOf(progress) ?? '';
    return `${failedAt}${again}${message.slice(failedAt.length)}`.trim();
  }
  const text = percent === undefined ? message : `${percent}%`;
  return `${stage}${again}${text === '' ? '' : percent === undefined ? `: ${text}` : ` ${text}`}`;
}

/** Codes of errors of layering: of the roll-out of an image, and of whatever comes before. */
const failureReasons: readonly (readonly [RegExp, string])[] = [
  [
    /(?:^|: )(?:os|layering\.(?:hand-over|served|not-served|other-image|pools))[a-z.-]*: /,
    'OSImageRolloutFailed',
  ],
  [/(?:^|: )layering\.[a-z-]+: /, 'OSImageBuildFailed'],
];

const failureReason = ({ message = '' }: HostProgress): string =>
  failureReasons.find(([pattern]) => pattern.test(message))?.[1] ?? 'InstallationFailed';

/** How often a status is derived again where others write it too. */
const mostTries = 6;

/** An object as a config; what the API server has checked is as its definition says. */
export const asConfig = (object: KubeObject): BootstrapConfig => object as BootstrapConfig;

/**
 * Writes the status of a config that has changed since it was read.
 * @throws AgentError `kube.conflict` where another has changed the config since; as `Kube.patch`
 */
export async function patchStatus(
  kube: Pick<Kube, 'patch'>,
  config: BootstrapConfig,
  status: BootstrapConfigStatus,
  signal: AbortSignal,
): Promise<void> {
  if (isDeepStrictEqual(status, config.status)) return;
  const patch = patchOf(config, { status: withRemoved(config.status, status) }, 'status');
  await kube.patch(refTo(bootstrapConfigs, config), patch, signal);
}

/**
 * The same for a report, which comes once: what changes is derived again from the config as it is
 * read then, where another has changed that.
 * @param change undefined where nothing changes
 * @throws AgentError as `Kube.patch`
 */
export async function writeStatus(
  kube: Pick<Kube, 'get' | 'patch'>,
  seen: BootstrapConfig,
  change: (config: BootstrapConfig) => BootstrapConfigStatus | undefined,
  signal: AbortSignal,
): Promise<void> {
  let config: BootstrapConfig | undefined = seen;
  for (let tries = 1; ; tries += 1) {
    config ??= (await kube.get(refTo(bootstrapConfigs, seen), signal)) as typeof config;
    if (config === undefined || config.metadata.uid !== seen.metadata.uid) return;
    const status = change(config);
    if (status === undefined) return;
    try {
      await patchStatus(kube, config, status, signal);
      return;
    } catch (error) {
      if (!isConflict(error) || tries >= mostTries) throw error;
      config = undefined;
    }
  }
}

/**
 * A merge patch keeps members that it does not name: a percentage of an earlier stage, for example.
 */
function withRemoved(before: BootstrapConfigStatus = {}, status: BootstrapConfigStatus): object {
  const gone = Object.keys(before.progress ?? {}).filter(
    (name) => !Object.hasOwn(status.progress ?? {}, name),
  );
  const none = Object.fromEntries(gone.map((name) => [name, null]));
  return status.progress === undefined
    ? status
    : { ...status, progress: { ...none, ...status.progress } };
}

/** A report of a stage, as an agent sends it. */
export interface ReportedStage {
  readonly stage: string;
  readonly info: string;
}

/** What becomes of a report. */
export type ProgressDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed'; readonly progress: HostProgress }
  /**
   * In the words of assisted-service (`UpdateInstallProgress`), by which an agent knows what it is
   * refused for.
   */
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
 * Decides what a report does to the progress of a host. A stage never goes back, unless a further
 * attempt begins; stages and failures are never dropped, percentages that follow each other quickly
 * are.
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
