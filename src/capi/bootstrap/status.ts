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
  type CheckResult,
  conditionOfCheck,
  findCondition,
  type NewCondition,
  pausedCondition,
  right,
  withConditions,
  wrong,
} from '../conditions.ts';
import { refTo } from '../objects.ts';
import { isConflict } from '../../ports/kube-failures.ts';
import type { Millis } from '../../model/duration.ts';

/** Changes of a status; its conditions follow. */
export interface StatusChange extends Pick<
  BootstrapConfigStatus,
  'progress' | 'role' | 'hostID' | 'logSecretName' | 'dataSecretName'
> {
  /** Why the data Secret is missing. */
  readonly dataSecret?: CheckResult;
  readonly isPaused?: boolean;
}

/**
 * Status of a config after a change. Both spellings of the contract's flag are set, and stay
 * (Cluster API, contract of bootstrap providers, v1beta1 and v1beta2).
 */
export function statusAfter(
  { status: before = {}, metadata: { generation } }: BootstrapConfig,
  { dataSecret, isPaused = false, ...change }: StatusChange,
  now: number,
): BootstrapConfigStatus {
  const made = { ready: true, initialization: { dataSecretCreated: true } };
  const status: BootstrapConfigStatus = isPaused
    ? before
    : {
        ...before,
        ...(change.dataSecretName !== undefined && made),
        ...change,
        ...(generation !== undefined && { observedGeneration: generation }),
      };
  const changed = isPaused ? [] : deriveConditions(status, now, dataSecret);
  const paused = pausedCondition(isPaused);
  const conditions = withConditions(before.conditions, [paused, ...changed], now, generation);
  return { ...status, conditions };
}

/**
 * The conditions that follow from the status of a config and the time: `DataSecretAvailable`,
 * `AgentReporting`, and `Ready`, which core mirrors to the Machine.
 */
export function deriveConditions(
  status: BootstrapConfigStatus,
  now: number,
  dataSecret?: CheckResult,
): readonly NewCondition[] {
  const isMade = status.initialization?.dataSecretCreated === true;
  const before = findCondition(status.conditions, 'DataSecretAvailable');
  const { reason = 'WaitingForMachine', message = '' } = before?.status === 'False' ? before : {};
  const data = dataSecret ?? (isMade ? right('Available') : wrong(reason, message));
  const isLost = now >= (lostAt(status) ?? Number.POSITIVE_INFINITY);
  return [
    conditionOfCheck('DataSecretAvailable', data),
    conditionOfCheck('AgentReporting', reportingCheck(status, isLost)),
    conditionOfCheck('Ready', readyCheck(status, data, isLost)),
  ];
}

/** Stages after which the host itself reports nothing more. */
const silentStages: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
]);

function reportingCheck({ progress }: BootstrapConfigStatus, isLost: boolean): CheckResult {
  if (progress === undefined) return wrong('NotYet');
  if (progress.stage === 'Done') return right('Installed');
  if (isLost) return wrong('Lost', `last report ${progress.updatedAt}`);
  return right(silentStages.has(progress.stage) ? 'Rebooted' : 'Reporting');
}

function readyCheck(
  { progress, logSecretName }: BootstrapConfigStatus,
  data: CheckResult,
  isLost: boolean,
): CheckResult {
  if (progress === undefined) return data.isRight ? wrong('WaitingForAgent') : data;
  const message = shownProgress(progress);
  if (progress.stage === 'Done') return right('Installed');
  if (progress.stage === 'Failed') {
    const place = logSecretName === undefined ? '' : ` (log: Secret ${logSecretName})`;
    return wrong(failureReason(progress), `${plainLine(message, 900)}${place}`);
  }
  return isLost
    ? wrong('AgentLost', `${message}: no report since ${progress.updatedAt}`)
    : wrong(reasonOf(progress.stage), message);
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

/** By the code of the error: one of the roll-out of an image, or of layering before it. */
function failureReason({ message = '' }: HostProgress): string {
  if (
    /(?:^|: )(?:os|layering\.(?:hand-over|served|not-served|other-image|pools))[a-z.-]*: /.test(
      message,
    )
  )
    return 'OSImageRolloutFailed';
  return /(?:^|: )layering\.[a-z-]+: /.test(message) ? 'OSImageBuildFailed' : 'InstallationFailed';
}

/** Most tries of a status that others write too. */
const mostTries = 6;

/** An object as a config: the API server has checked it by its definition. */
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
 * The same for a report, which comes once: where another has changed the config, it is read and the
 * change derived again.
 * @param change resolves to undefined where nothing changes
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

/** The decision about a report; nothing changes where neither is there. */
interface ProgressDecision {
  readonly progress?: HostProgress;
  /** In the words of assisted-service (`UpdateInstallProgress`), known to agents. */
  readonly refusal?: string;
}

interface ProgressContext {
  readonly ladder: LadderName;
  readonly now: number;
  /** Whether the host reports this itself: one that starts again begins another attempt. */
  readonly isOwn: boolean;
}

/** Longest text of a host that is shown. */
const longestMessage = 1024;

/**
 * Decides what a report does to the progress of a host. A stage never goes back, unless a further
 * attempt begins. The agent sends a percentage that has risen by some points only.
 */
export function decideProgress(
  before: HostProgress | undefined,
  { stage, info }: ReportedStage,
  { ladder: name, isOwn, now }: ProgressContext,
): ProgressDecision {
  const ladder: readonly string[] = ladders[name];
  if (before?.stage === 'Done' && stage !== 'Done')
    return { refusal: `Can't set progress <${stage}> to host in status <installed>` };
  if (stage === 'Failed') return failed(before, info, now);
  if (!ladder.includes(stage))
    return { refusal: `Stages ${stage} isn't available for host role ${name}` };
  const position = { ...textOf(info), stage, attempt: before?.attempt ?? 1 };
  if (before === undefined) return moved(before, position, now);
  const hasFailed = before.stage === 'Failed';
  if (isOwn && (hasFailed || (stage === ladder[0] && before.stage !== stage)))
    return moved(before, { ...position, attempt: before.attempt + 1 }, now);
  // Of a host that has failed, others know nothing better than itself.
  if (hasFailed || ladder.indexOf(stage) < ladder.indexOf(before.stage)) {
    const refusal = `Can't assign lower stage "${stage}" after host has been in stage "${before.stage}"`;
    return { refusal };
  }
  return moved(before, position, now);
}

/** The stage in which it failed stays in front of the reason. */
function failed(before: HostProgress | undefined, info: string, now: number): ProgressDecision {
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
  if (before?.stage !== to.stage || before.attempt !== to.attempt)
    return { progress: { ...to, stageStartedAt: updatedAt, updatedAt } };
  if (before.percent === to.percent && before.message === to.message) return {};
  return { progress: { ...to, stageStartedAt: before.stageStartedAt, updatedAt } };
}

function textOf(info: string): Pick<HostProgress, 'percent' | 'message'> {
  const [, digits] = /^(\d{1,3})%$/.exec(info) ?? [];
  const percent = Number(digits);
  if (digits !== undefined && percent <= 100) return { percent };
  const message = plainLine(info, longestMessage);
  return message === '' ? {} : { message };
}

/** Time at which a silent host is lost; undefined where no report is expected. */
export function lostAt({ progress }: BootstrapConfigStatus): Millis | undefined {
  if (progress === undefined) return undefined;
  const limits: Readonly<Record<string, Millis>> = stageLimits;
  const at = Date.parse(progress.updatedAt) + (limits[progress.stage] ?? Number.NaN);
  return Number.isFinite(at) ? at : undefined;
}
