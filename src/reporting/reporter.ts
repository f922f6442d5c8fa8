// Invariants of reporting:
// 1. it never fails and never delays a run: sinks return at once, faults become events;
// 2. one request is under way at a time, so the service sees the stages in order;
// 3. when the service did not answer, the newest report wins and older ones are dropped;
// 4. only the last report of a run is waited for, and not longer than `lastReportLimit`; a step
// that has to know how the reports fare names a limit of its own; 5. `Failed` is the last report of
// a run, once: what waits is dropped for it, and no stop cuts it off; 6. the text of one stage
// changes at most each `textsApart`, and its last one is always sent: at the latest before the next
// stage, or when somebody waits for the answers.
import type { FailureReport, RunEventBody, Sink } from '../engine/events.ts';
import { asAgentError, renderFailure, reportOf } from '../engine/failures.ts';
import { limited } from '../engine/limit.ts';
import { plainText } from '../lib/plain-text.ts';
import { type Millis, seconds } from '../model/duration.ts';
import { type AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import { type LadderName, ladders } from '../model/stage.ts';
import type { Clock } from '../ports/clock.ts';
import {
  type InventoryHost,
  isBeingInstalled,
  type Reports,
  type ReportStatus,
} from '../ports/inventory.ts';
import { ladderOf, type StageReport } from './ladder.ts';

/** Failures of telling the inventory service how a run goes; none of them ends a run. */
export const reportFailures = {
  'report.unsent': {
    kind: 'remote',
    title: 'A report did not reach the service before the run ended',
    hint: 'look at the log of the host for how the run ended; the service shows an older stage',
  },
} as const satisfies FailureTable;

/** Builds an error of reporting. */
const reportFailure = failuresOf(reportFailures);

/** How long the last report of a run may take. */
const lastReportLimit: Millis = seconds(60);

/**
 * How long the last report of a run that was stopped may take, from the stop on: the whole agent is
 * to end in 2 s.
 */
const stoppedReportLimit: Millis = seconds(1.5);

/** From one text of a stage to the next; the service writes an event for each. */
const textsApart: Millis = seconds(10);

/** From one request for the status of this host to the next. */
const statusEvery: Millis = seconds(60);

/** Pause after an attempt that failed, and after each further one. */
const pauses: readonly Millis[] = [1, 2, 5, 10, 30].map(seconds);

/** What the list of hosts says of one. */
type ListedHost = Pick<InventoryHost, 'status' | 'stage'>;

/** What the reporter needs. */
export interface ReporterOptions {
  readonly ladder: LadderName;
  readonly clock: Clock;
  /** Sends one report, once; rejects with AgentError. */
  readonly send: (report: StageReport, signal: AbortSignal) => Promise<void>;
  /** This host as the service lists it; undefined where it is not listed. */
  readonly listedHost?: (signal: AbortSignal) => Promise<ListedHost | undefined>;
  /**
   * Hears each status in which the service installs this host no more, once somebody has waited for
   * its answers.
   */
  readonly onRefused?: (status: string) => void;
  readonly emit: (body: RunEventBody) => void;
  /** Takes secrets out of a text; before it is cut, so that no half of one is left. */
  readonly mask?: (text: string) => string;
}

/** Tells the inventory service how the run goes. */
export interface Reporter extends Reports {
  readonly sink: Sink;
  /**
   * Reports `Failed`, unless the run has failed or finished before. A failed run does it by its
   * events.
   */
  readonly fail: (failure: FailureReport) => void;
  /** Gives up what is still waiting; nothing is sent any more. */
  readonly close: () => void;
}

/** Starts a reporter. */
export function reporterOf(options: ReporterOptions): Reporter {
  const { ladder, clock, mask = (text: string) => text } = options;
  const climb = ladderOf(ladder);
  const answers = knownAnswers(options);
  const ended = new AbortController();
  const { deliver, idle, hurry } = deliveryOf(options, answers, ended.signal);
  const allSent = (): Promise<void> => {
    hurry();
    return idle();
  };
  let isGivenUp = false;
  let isLastAdded = false;
  let failedAt = 0;

  const add = (report: StageReport | undefined): void => {
    if (report === undefined || ended.signal.aborted) return;
    const masked = { stage: report.stage, info: plainText(mask(report.info), longestInfo) };
    answers.added(masked);
    deliver(masked);
  };

  const confirm = async (signal: AbortSignal): Promise<void> => {
    const host = await listedHost(options, AbortSignal.any([signal, ended.signal]));
    answers.listed(host);
    answers.refused(host?.status);
  };

  let confirming: Promise<void> | undefined;

  const fail = (failure: FailureReport): void => {
    if (isLastAdded) return;
    add({ stage: 'Failed', info: failureInfo(failure) });
    failedAt = clock.elapsed();
    isLastAdded = true;
  };

  return {
    fail,
    sink: (event) => {
      if (event.type === 'run.failed') fail(event.failure);
      if (!isLastAdded) add(climb(event));
      isLastAdded ||= event.type === 'run.finished';
    },
    close: () => {
      ended.abort(unsent());
    },
    settled: async (within, signal) => {
      await firstOf({ clock, signal, within }, allSent);
      answers.follow();
      confirming ??= untilEnded(clock, ended.signal, confirm);
      return answers.status();
    },
    confirm,
    flush: async (signal) => {
      if (isGivenUp) return answers.status();
      const end = await firstOf({ clock, signal, within: lastReportLimit }, allSent);
      isGivenUp = end === 'late';
      if (end === 'stopped' && isLastAdded) {
        isGivenUp = true;
        const within = Math.max(failedAt + stoppedReportLimit - clock.elapsed(), 0);
        await firstOf({ clock, signal: ended.signal, within }, allSent);
      }
      return answers.status();
    },
  };
}

/**
 * Asks for the status of this host again and again. A stage that the host has is accepted whatever
 * its status is, and a wait may report nothing: neither says that it is over.
 */
async function untilEnded(
  clock: Clock,
  ended: AbortSignal,
  confirm: Reports['confirm'],
): Promise<void> {
  for (;;) {
    await clock.sleep(statusEvery, ended).catch(() => undefined);
    if (ended.aborted) return;
    await confirm(ended);
  }
}

/** Reports on their way to the service. */
interface Delivery {
  /** Sends a report in its turn; `Failed` next, and at once where a pause is under way. */
  readonly deliver: (report: StageReport) => void;
  /** Sends the text that waits for its time. */
  readonly hurry: () => void;
  /** Resolves when nothing is under way any more. */
  readonly idle: () => Promise<void>;
}

function deliveryOf(options: ReporterOptions, answers: KnownAnswers, ended: AbortSignal): Delivery {
  const { clock } = options;
  const queue = reportQueue();
  const failed = new AbortController();
  let work: Promise<void> | undefined;

  const pause = async (duration: Millis, early: AbortSignal): Promise<void> => {
    const signal = early.aborted ? ended : AbortSignal.any([ended, early]);
    await clock.sleep(duration, signal).catch(() => undefined);
    ended.throwIfAborted();
  };
  const pacer = textPacer(clock, pause);

  const deliver = async (report: StageReport): Promise<void> => {
    let current = report;
    for (let failures = 0; ; failures += 1) {
      if (answers.isPassed(current)) {
        answers.answered(current, 'accepted');
        return;
      }
      pacer.sent(current);
      const end = await attemptOnce({ options, answers }, ended, current);
      if (end === 'rejected') pacer.forget();
      else if (end !== 'unanswered') answers.answered(current, end);
      if (end !== 'unanswered' || ended.aborted) return;
      await pause(pauses[Math.min(failures, pauses.length - 1)] ?? 0, failed.signal);
      current = queue.newest() ?? current;
    }
  };

  const drain = async (): Promise<void> => {
    for (;;) {
      const early = pacer.early(queue.onlyStage());
      if (early !== undefined) await early;
      const next = queue.take();
      if (next === undefined) return;
      if (pacer.isKnown(next)) answers.answered(next, 'accepted');
      else await deliver(next);
    }
  };

  const start = (): void => {
    work ??= drain()
      .catch(() => undefined)
      .finally(() => {
        work = undefined;
        if (queue.size() > 0 && !ended.aborted) start();
      });
  };

  return {
    hurry: pacer.hurry,
    deliver: (report) => {
      const isFailed = report.stage === 'Failed';
      if (isFailed) {
        queue.newest();
        failed.abort();
      }
      queue.add(report);
      if (isFailed || queue.onlyStage() === undefined) pacer.hurry();
      start();
    },
    idle: async () => {
      while (work !== undefined) await work;
    },
  };
}

/** Keeps the texts of one stage apart. */
interface TextPacer {
  readonly sent: (report: StageReport) => void;
  /** The service has not taken what was sent last. */
  readonly forget: () => void;
  /** Whether it says what was sent last. */
  readonly isKnown: (report: StageReport) => boolean;
  /**
   * Where all that waits is a text of the stage that was sent last: the time until it may be sent.
   */
  readonly early: (stage: StageReport['stage'] | undefined) => Promise<void> | undefined;
  readonly hurry: () => void;
}

function textPacer(
  clock: Clock,
  pause: (duration: Millis, early: AbortSignal) => Promise<void>,
): TextPacer {
  let last: (StageReport & { readonly at: Millis }) | undefined;
  let due = new AbortController();
  return {
    sent: (report) => {
      last = { ...report, at: clock.elapsed() };
    },
    forget: () => {
      last = undefined;
    },
    isKnown: (report) => last !== undefined && isSame(last, report),
    early: (stage) => {
      if (last === undefined || stage !== last.stage) return undefined;
      const rest = last.at + textsApart - clock.elapsed();
      due = new AbortController();
      return rest > 0 ? pause(rest, due.signal) : undefined;
    },
    hurry: () => {
      due.abort();
    },
  };
}

/**
 * How an attempt ended; a refusal (409) is an answer too, and may name the status of the host. What
 * is rejected, because of the token for example, is not sent again, and the service does not have
 * it.
 */
type AttemptEnd =
  'accepted' | 'unanswered' | 'rejected' | { readonly refusedIn: string | undefined };

/** What the service has made of the reports so far. */
interface KnownAnswers {
  readonly added: (report: StageReport) => void;
  readonly answered: (
    report: StageReport,
    end: Exclude<AttemptEnd, 'unanswered' | 'rejected'>,
  ) => void;
  /**
   * The service has this host in a status; one in which it is installed takes an earlier refusal
   * back.
   */
  readonly refused: (status: string | undefined) => void;
  /**
   * The service shows this host so: what is below its stage was reported by an earlier run, and
   * would be refused.
   */
  readonly listed: (host: ListedHost | undefined) => void;
  readonly isPassed: (report: StageReport) => boolean;
  /** From now on refusals are told as they come. */
  readonly follow: () => void;
  readonly status: () => ReportStatus;
}

function knownAnswers({
  onRefused,
  ladder,
}: Pick<ReporterOptions, 'onRefused' | 'ladder'>): KnownAnswers {
  const positionOf = (stage: string): number => (ladders[ladder] as string[]).indexOf(stage);
  let shown = -1;
  let unanswered: readonly StageReport[] = [];
  let refusedIn: string | undefined;
  let isFollowed = false;
  const refused = (status: string | undefined): void => {
    if (status === undefined) return;
    refusedIn = isBeingInstalled({ status }) ? undefined : status;
    if (isFollowed && refusedIn !== undefined) onRefused?.(refusedIn);
  };
  return {
    refused,
    listed: (host) => {
      shown = Math.max(shown, positionOf(host?.stage ?? ''));
    },
    isPassed: ({ stage }) => positionOf(stage) >= 0 && positionOf(stage) < shown,
    follow: () => {
      isFollowed = true;
    },
    added: (report) => {
      unanswered = withNewest(unanswered, report);
    },
    answered: (report, end) => {
      // What was reported before it is of no use any more; a later text of its stage is still to
      // come.
      const upTo = unanswered.findIndex(({ stage }) => stage === report.stage);
      const isNewest = isSame(unanswered[upTo] ?? report, report);
      unanswered = unanswered.slice(isNewest ? upTo + 1 : upTo);
      if (end === 'accepted') return;
      // Nothing comes after a failure, so nobody has to hear of it.
      if (report.stage === 'Failed') refusedIn = end.refusedIn ?? refusedIn;
      else refused(end.refusedIn);
    },
    status: () => ({ unanswered, ...(refusedIn === undefined ? {} : { refusedIn }) }),
  };
}

/**
 * How long the list of hosts may take when a report was refused: what the refusal says is known
 * already.
 */
const listLimit: Millis = seconds(5);

/** This host by the list of the service; undefined where it cannot be had in time. */
async function listedHost(
  { listedHost: list, clock }: ReporterOptions,
  signal: AbortSignal,
): Promise<ListedHost | undefined> {
  const late = () => new Error('the list of hosts takes too long');
  const listed = (inner: AbortSignal) => list?.(inner) ?? Promise.resolve(undefined);
  return limited(clock, { limit: listLimit, signal, late }, listed).catch(() => undefined);
}

interface Attempting {
  readonly options: ReporterOptions;
  readonly answers: KnownAnswers;
}

async function attemptOnce(
  { options, answers }: Attempting,
  ended: AbortSignal,
  report: StageReport,
): Promise<AttemptEnd> {
  const { send, emit } = options;
  try {
    await send(report, ended);
    emit({ type: 'report.sent', ...report });
    return 'accepted';
  } catch (thrown) {
    const error = ended.aborted ? unsent() : asAgentError(thrown);
    if (error.isFinal || ended.aborted) {
      emit({ type: 'report.dropped', ...report, failure: reportOf(error) });
    }
    if (!error.isFinal || ended.aborted) return 'unanswered';
    if (error.code !== 'inventory.refused') return 'rejected';
    const { hostStatus } = error.context;
    const named = typeof hostStatus === 'string' ? hostStatus : undefined;
    // Nothing comes after a failure.
    if (report.stage === 'Failed') return { refusedIn: named };
    // A stage that is repeated, or comes out of order, is refused with the same 409. Without the
    // list, the reason of the refusal names the status (assisted-service, `UpdateInstallProgress`).
    const host = await listedHost(options, ended);
    answers.listed(host);
    return { refusedIn: host?.status ?? named };
  }
}

interface WorkLimit {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly within: Millis;
}

/** Waits for work, but not longer than its limit, or until a signal aborts. */
async function firstOf(
  { clock, signal, within }: WorkLimit,
  work: () => Promise<void>,
): Promise<'done' | 'late' | 'stopped'> {
  const settled = new AbortController();
  const late = clock.sleep(within, AbortSignal.any([signal, settled.signal])).then(
    () => 'late' as const,
    () => 'stopped' as const,
  );
  const first = await Promise.race([work().then(() => 'done' as const), late]);
  settled.abort(new Error('settled'));
  return first;
}

const unsent = (): AgentError =>
  reportFailure('report.unsent', 'the run ended before the service took the report');

const isSame = (one: StageReport, other: StageReport): boolean =>
  one.stage === other.stage && one.info === other.info;

/** Reports with another at their end, which takes the place of one of the same stage. */
const withNewest = (
  reports: readonly StageReport[],
  report: StageReport,
): readonly StageReport[] => [...reports.filter(({ stage }) => stage !== report.stage), report];

/**
 * Characters of a report's text. The service keeps 2048 and answers 500 to more; it stores a
 * failure as `Failed - ` and the text.
 */
const longestInfo = 2000;

/** A failure as the service shows it: code, what happened, why, what to do; not cut yet. */
const failureInfo = (failure: FailureReport): string =>
  `${renderFailure(failure)} — ${failure.hint}`;

/** Reports that wait to be sent: one for each stage, so it never holds more than the ladder has. */
interface ReportQueue {
  /** Adds a report; it replaces one of the same stage that is still waiting. */
  readonly add: (report: StageReport) => void;
  readonly take: () => StageReport | undefined;
  /**
   * After a failed attempt: the newest report, and none when a newer one makes the failed needless.
   */
  readonly newest: () => StageReport | undefined;
  readonly size: () => number;
  /** The stage that all reports which wait are of; undefined where there are several, or none. */
  readonly onlyStage: () => StageReport['stage'] | undefined;
}

function reportQueue(): ReportQueue {
  let waiting: readonly StageReport[] = [];
  return {
    add: (report) => {
      waiting = withNewest(waiting, report);
    },
    take: () => {
      const [first, ...rest] = waiting;
      waiting = rest;
      return first;
    },
    newest: () => {
      const last = waiting.at(-1);
      waiting = [];
      return last;
    },
    size: () => waiting.length,
    onlyStage: () => (waiting.length === 1 ? waiting[0]?.stage : undefined),
  };
}
