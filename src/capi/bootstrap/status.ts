import { isDeepStrictEqual } from 'node:util';
import { plainLine } from '../../lib/plain-text.ts';
import { type LadderName, ladders, type Stage, stageLimits, stages } from '../../model/stage.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { patchOf } from '../../kube/object.ts';
import {
  type BootstrapConfig,
  bootstrapConfigs,
  type BootstrapConfigStatus,
  type HostProgress,
} from '../api.ts';
import {
  type CheckResult,
  failedCheck,
  findCondition,
  passedCheck,
  pausedCheck,
  withConditions,
} from '../conditions.ts';
import { refTo } from '../objects.ts';
import { isConflict } from '../../ports/kube-failures.ts';
import type { Millis } from '../../model/duration.ts';

/** Changes of a status; the conditions are derived from them. */
export interface StatusChange extends Pick<
  BootstrapConfigStatus,
  'progress' | 'role' | 'hostID' | 'logSecretName' | 'dataSecretName'
> {
  /** The reason why the data Secret is missing. */
  readonly dataSecret?: CheckResult;
  readonly isPaused?: boolean;
}

/**
 * Status of a config after a change. Sets the flag of the contract in both versions and never
 * clears it (Cluster API, contract of bootstrap providers, v1beta1 and v1beta2).
 */
export function statusAfter(
  { status: before = {}, metadata: { generation } }: BootstrapConfig,
  { dataSecret, isPaused = false, ...change }: StatusChange,
  now: number,
): BootstrapConfigStatus {
  const paused = { Paused: pausedCheck(isPaused) };
  if (isPaused)
    return { ...before, conditions: withConditions(before.conditions, paused, now, generation) };
  const made = { ready: true, initialization: { dataSecretCreated: true } };
  const status: BootstrapConfigStatus = {
    ...before,
    ...(change.dataSecretName !== undefined && made),
    ...change,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const checks = { ...paused, ...deriveChecks(status, now, dataSecret) };
  return { ...status, conditions: withConditions(before.conditions, checks, now, generation) };
}

/**
 * Derives the conditions of a config from its status and the time: `DataSecretAvailable`,
 * `AgentReporting`, and `Ready`, which core mirrors to the Machine.
 */
export function deriveChecks(
  status: BootstrapConfigStatus,
  now: number,
  dataSecret?: CheckResult,
): Readonly<Record<'DataSecretAvailable' | 'AgentReporting' | 'Ready', CheckResult>> {
  const isMade = status.initialization?.dataSecretCreated === true;
  const before = findCondition(status.conditions, 'DataSecretAvailable');
  const missing = before?.status === 'False' ? before : failedCheck('WaitingForMachine');
  const data = dataSecret ?? (isMade ? passedCheck('Available') : missing);
  const isLost = now >= (lostAt(status) ?? Number.POSITIVE_INFINITY);
  return {
    DataSecretAvailable: data,
    AgentReporting: reportingCheck(status, isLost),
    Ready: readyCheck(status, data, isLost),
  };
}

/** Stages after which the host itself reports no more. */
const silentStages: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
]);

function reportingCheck({ progress }: BootstrapConfigStatus, isLost: boolean): CheckResult {
  if (progress === undefined) return failedCheck('NotYet');
  if (progress.stage === 'Done') return passedCheck('Installed');
  if (isLost) return failedCheck('Lost', `last report ${progress.updatedAt}`);
  return passedCheck(silentStages.has(progress.stage) ? 'Rebooted' : 'Reporting');
}

function readyCheck(
  { progress, logSecretName }: BootstrapConfigStatus,
  data: CheckResult,
  isLost: boolean,
): CheckResult {
  if (progress === undefined) return data.status === 'True' ? failedCheck('WaitingForAgent') : data;
  const message = shownProgress(progress);
  if (progress.stage === 'Done') return passedCheck('Installed');
  if (progress.stage === 'Failed') {
    const place = logSecretName === undefined ? '' : ` (log: Secret ${logSecretName})`;
    return failedCheck(failureReason(progress), `${plainLine(message, 900)}${place}`);
  }
  return isLost
    ? failedCheck('AgentLost', `${message}: no report since ${progress.updatedAt}`)
    : failedCheck(reasonOf(progress.stage), message);
}

/** A stage as the reason of a condition: WritingImageToDisk for `Writing image to disk`. */
const reasonOf = (stage: string): string =>
  stage
    .split(' ')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** The progress of a host in one line, `Writing image to disk 61% (attempt 2)` for example. */
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

/** The reason by the code of the error: the roll-out of an image, or layering before it. */
function failureReason({ message = '' }: HostProgress): string {
  if (
    /(?:^|: )(?:os|layering\.(?:hand-over|served|not-served|other-image|pools))[a-z.-]*: /.test(
      message,
    )
  )
    return 'OSImageRolloutFailed';
  return /(?:^|: )layering\.[a-z-]+: /.test(message) ? 'OSImageBuildFailed' : 'InstallationFailed';
}

/** Maximum number of attempts to write a status that others write too. */
const mostTries = 6;

/** Converts an object to a config: the API server has checked it by its definition. */
export const asConfig = (object: KubeObject): BootstrapConfig => object as BootstrapConfig;

/**
 * Writes the status of a config that has changed since it was read.
 * @throws AgentError `kube.conflict` if the config has changed since it was read; as `Kube.patch`
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
 * Writes the status from a report, which is sent only once: if the config has changed, reads it and
 * derives the change again.
 * @param change resolves to undefined if nothing changes
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
 * Sets removed members to null: a merge patch keeps members that it does not name, such as a
 * percentage of an earlier stage.
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

/** The decision about a report; nothing changes if both fields are undefined. */
interface ProgressDecision {
  readonly progress?: HostProgress;
  /** In the words of assisted-service (`UpdateInstallProgress`), which agents parse. */
  readonly refusal?: string;
}

/** Maximum length of a host's text. */
const longestMessage = 1024;

/**
 * Decides how a report changes the progress of a host. A stage never goes back, unless another
 * attempt begins. The agent sends a percentage only after a rise of several points.
 * @param context `isOwn`: the host reports this itself; a restarted host begins another attempt
 */
export function decideProgress(
  before: HostProgress | undefined,
  { stage, info }: { readonly stage: string; readonly info: string },
  context: { readonly ladder: LadderName; readonly now: number; readonly isOwn: boolean },
): ProgressDecision {
  const { ladder: name, isOwn, now } = context;
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
  // After a failure, only the host itself can report better.
  if (hasFailed || ladder.indexOf(stage) < ladder.indexOf(before.stage)) {
    const refusal = `Can't assign lower stage "${stage}" after host has been in stage "${before.stage}"`;
    return { refusal };
  }
  return moved(before, position, now);
}

/** The stage of the failure precedes its reason. */
function failed(before: HostProgress | undefined, info: string, now: number): ProgressDecision {
  const at = before?.stage === 'Failed' ? failedStageOf(before) : before?.stage;
  const message = plainLine(at === undefined ? info : `${at}: ${info}`, longestMessage);
  return moved(before, { stage: 'Failed', message, attempt: before?.attempt ?? 1 }, now);
}

/** The stage in which a host failed; undefined if it had not reported a stage. */
export const failedStageOf = ({ message = '' }: HostProgress): string | undefined =>
  stages.find((stage) => message.startsWith(`${stage}: `));

/** The status of a host in the words of assisted-service. */
export function serviceStatusOf(stage: string | undefined): string {
  if (stage === 'Done') return 'installed';
  return stage === 'Failed' ? 'error' : 'installing-in-progress';
}

function moved(
  before: HostProgress | undefined,
  to: Pick<HostProgress, 'stage' | 'attempt' | 'percent' | 'message'>,
  now: number,
): ProgressDecision {
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

/** Time at which a silent host counts as lost; undefined if no report is expected. */
export function lostAt({ progress }: BootstrapConfigStatus): Millis | undefined {
  if (progress === undefined) return undefined;
  const limits: Readonly<Record<string, Millis>> = stageLimits;
  const at = Date.parse(progress.updatedAt) + (limits[progress.stage] ?? Number.NaN);
  return Number.isFinite(at) ? at : undefined;
}
