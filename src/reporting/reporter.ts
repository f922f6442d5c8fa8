// Invariants of reporting:
// 1. it never fails and never delays a run: sinks return at once, errors become events;
// 2. only one request is under way at a time, so the service sees the stages in order;
// 3. if the service did not answer, the newest report wins and older reports are dropped;
// 4. a run waits only for its last report, at most `lastReportLimit`; a step that needs the answers
//    to the reports sets its own limit;
// 5. `Failed` is the last report of a run and is sent once: it replaces waiting reports, and no
//    stop interrupts it;
// 6. the text of one stage changes at most once per `textsApart`, and its last text is always sent:
//    at the latest before the next stage, or when a caller waits for the answers.
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
import { Ladder, type StageReport } from './ladder.ts';

/** Failures of reporting a run to the inventory service; none of them ends a run. */
export const reportFailures = {
  'report.unsent': {
    kind: 'remote',
    title: 'A report did not reach the service before the run ended',
    hint: 'read the log on the host; the service shows an older stage',
  },
} as const satisfies FailureTable;

/** Builds an error of reporting. */
const reportFailure = failuresOf(reportFailures);

const unsent = (): AgentError =>
  reportFailure('report.unsent', 'the run ended before the service took the report');

/** Limit of the last report of a run. */
const lastReportLimit: Millis = seconds(60);

/**
 * Limit of the last report of a stopped run, counted from the stop: the whole agent has to end in 2
 * s.
 */
const stoppedReportLimit: Millis = seconds(1.5);

/** Interval between two texts of a stage; the service writes an event for each. */
const textsApart: Millis = seconds(10);

/** Interval between two requests for the status of this host. */
const statusEvery: Millis = seconds(60);

/** Limit of the request for the list of hosts; the refusal alone says enough without it. */
const listLimit: Millis = seconds(5);

/** Pause after a failed attempt, and after each further one. */
const pauses: readonly Millis[] = [1, 2, 5, 10, 30].map(seconds);

/**
 * Maximum length of a report's text. The service stores 2048 characters and answers 500 to more; it
 * stores a failure as `Failed - ` plus the text.
 */
const longestInfo = 2000;

/** A host in the list of the service. */
type ListedHost = Pick<InventoryHost, 'status' | 'stage'>;

/** Functions of a reporter to reach the service and its listeners. */
export interface ReporterOptions {
  readonly ladder: LadderName;
  readonly clock: Clock;
  /** Sends one report, once; rejects with AgentError. */
  readonly send: (report: StageReport, signal: AbortSignal) => Promise<void>;
  /** This host in the list of the service; undefined if it is not listed. */
  readonly listedHost?: (signal: AbortSignal) => Promise<ListedHost | undefined>;
  /**
   * Called with each status in which the service no longer installs this host, once a caller has
   * waited for the answers.
   */
  readonly onRefused?: (status: string) => void;
  readonly emit: (body: RunEventBody) => void;
  /** Masks secrets in a text before it is cut, so that no part of a secret remains. */
  readonly mask?: (text: string) => string;
}

/** Reports the progress of a run to the inventory service. */
export class Reporter implements Reports {
  readonly #options: ReporterOptions;
  readonly #ladder: Ladder;
  /** Aborted when the reporter sends nothing more. */
  readonly #ended = new AbortController();
  /** Aborted when the last report is `Failed`. */
  readonly #failed = new AbortController();
  /** Aborted to send a waiting text early. */
  #due = new AbortController();
  /** Reports to send, at most one for each stage, the newest last. */
  #waiting: readonly StageReport[] = [];
  /** Reports without an answer of the service, in the same order. */
  #unanswered: readonly StageReport[] = [];
  /** The last sent report, unless the service rejected it. */
  #sent: (StageReport & { readonly at: Millis }) | undefined;
  #work: Promise<void> | undefined;
  /** The highest stage of this host at the service, also from an earlier run. */
  #shown = -1;
  #refusedIn: string | undefined;
  #isFollowed = false;
  #isLastAdded = false;
  #isGivenUp = false;
  #failedAt: Millis = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#ladder = new Ladder(options.ladder);
  }

  readonly sink: Sink = (event) => {
    if (event.type === 'run.failed') this.fail(event.failure);
    const report = this.#isLastAdded ? undefined : this.#ladder.read(event);
    if (report !== undefined) this.#add(report);
    this.#isLastAdded ||= event.type === 'run.finished';
  };

  /**
   * Reports `Failed`, unless the run has failed or finished before. A failed run reports it by its
   * events.
   */
  readonly fail = (failure: FailureReport): void => {
    if (this.#isLastAdded) return;
    this.#add({ stage: 'Failed', info: `${renderFailure(failure)} — ${failure.hint}` });
    this.#failedAt = this.#options.clock.elapsed();
    this.#isLastAdded = true;
  };

  /** Drops waiting reports; the reporter sends nothing more. */
  readonly close = (): void => {
    this.#ended.abort(unsent());
  };

  readonly settled: Reports['settled'] = async (within, signal) => {
    await this.#allSent(within, signal);
    if (!this.#isFollowed) void this.#confirmRegularly();
    this.#isFollowed = true;
    return this.#status();
  };

  readonly confirm: Reports['confirm'] = async (signal) => {
    const host = await this.#readHost(AbortSignal.any([signal, this.#ended.signal]));
    this.#setStatus(host?.status);
  };

  readonly flush: Reports['flush'] = async (signal) => {
    if (this.#isGivenUp) return this.#status();
    const end = await this.#allSent(lastReportLimit, signal);
    this.#isGivenUp = end === 'late';
    if (end === 'stopped' && this.#isLastAdded) {
      this.#isGivenUp = true;
      const rest = this.#failedAt + stoppedReportLimit - this.#options.clock.elapsed();
      await this.#allSent(Math.max(rest, 0), this.#ended.signal);
    }
    return this.#status();
  };

  #status(): ReportStatus {
    const refusedIn = this.#refusedIn;
    return { unanswered: this.#unanswered, ...(refusedIn === undefined ? {} : { refusedIn }) };
  }

  #add({ stage, info }: StageReport): void {
    if (this.#ended.signal.aborted) return;
    const { mask = (text: string) => text } = this.#options;
    const report = { stage, info: plainText(mask(info), longestInfo) };
    this.#unanswered = withNewest(this.#unanswered, report);
    const isFailed = stage === 'Failed';
    this.#waiting = isFailed ? [report] : withNewest(this.#waiting, report);
    if (isFailed) this.#failed.abort();
    if (isFailed || this.#waiting.length > 1) this.#due.abort();
    this.#start();
  }

  #start(): void {
    this.#work ??= this.#sendAll()
      .catch(() => undefined)
      .finally(() => {
        this.#work = undefined;
        if (this.#waiting.length > 0 && !this.#ended.signal.aborted) this.#start();
      });
  }

  async #sendAll(): Promise<void> {
    let failures = 0;
    let report: StageReport | undefined;
    for (;;) {
      if (failures === 0) {
        const rest = this.#untilTextIsDue();
        if (rest > 0) await this.#pause(rest, this.#due.signal);
        [report] = this.#waiting;
        this.#waiting = this.#waiting.slice(1);
      } else {
        await this.#pause(pauses[Math.min(failures, pauses.length) - 1] ?? 0, this.#failed.signal);
        report = this.#waiting.at(-1) ?? report;
        this.#waiting = [];
      }
      if (report === undefined) return;
      const position = this.#positionOf(report.stage);
      const isPassed = position >= 0 && position < this.#shown;
      const isKnown = failures === 0 && this.#sent !== undefined && isSame(this.#sent, report);
      if (isPassed || isKnown) this.#setAnswered(report);
      failures = isPassed || isKnown || (await this.#attempt(report)) ? 0 : failures + 1;
    }
  }

  /**
   * The time until the next report may be sent. Only a lone text of the last sent stage has to
   * wait.
   */
  #untilTextIsDue(): Millis {
    const [next, ...more] = this.#waiting;
    if (this.#sent === undefined || next?.stage !== this.#sent.stage || more.length > 0) return 0;
    this.#due = new AbortController();
    return this.#sent.at + textsApart - this.#options.clock.elapsed();
  }

  /** @throws the reason of the reporter's end */
  async #pause(duration: Millis, early: AbortSignal): Promise<void> {
    const ended = this.#ended.signal;
    const signal = early.aborted ? ended : AbortSignal.any([ended, early]);
    await this.#options.clock.sleep(duration, signal).catch(() => undefined);
    ended.throwIfAborted();
  }

  /** Sends a report; false if the service did not answer. */
  async #attempt(report: StageReport): Promise<boolean> {
    const { send, emit, clock } = this.#options;
    const ended = this.#ended.signal;
    this.#sent = { ...report, at: clock.elapsed() };
    try {
      await send(report, ended);
    } catch (thrown) {
      const error = ended.aborted ? unsent() : asAgentError(thrown);
      if (error.isFinal || ended.aborted)
        emit({ type: 'report.dropped', ...report, failure: reportOf(error) });
      ended.throwIfAborted();
      if (!error.isFinal) return false;
      if (error.code === 'inventory.refused') await this.#setRefused(report, error);
      // The service did not take the report, because of the token for example, and never will.
      else this.#sent = undefined;
      return true;
    }
    emit({ type: 'report.sent', ...report });
    this.#setAnswered(report);
    return true;
  }

  /**
   * The service refuses a repeated or out-of-order stage with the same 409 as a stage of a host
   * that is no longer installed. The list of hosts shows which case it is. Without the list, the
   * reason of the refusal names the status (assisted-service, `UpdateInstallProgress`).
   */
  async #setRefused(report: StageReport, { context }: AgentError): Promise<void> {
    const { hostStatus } = context;
    const named = typeof hostStatus === 'string' ? hostStatus : undefined;
    // `Failed` is the last report, so no listener is called.
    if (report.stage === 'Failed') this.#refusedIn = named ?? this.#refusedIn;
    else {
      const host = await this.#readHost(this.#ended.signal);
      this.#setStatus(host?.status ?? named);
    }
    this.#setAnswered(report);
  }

  /** Drops earlier reports; a later text of the same stage is still to be sent. */
  #setAnswered(report: StageReport): void {
    const upTo = this.#unanswered.findIndex(({ stage }) => stage === report.stage);
    const isNewest = isSame(this.#unanswered[upTo] ?? report, report);
    this.#unanswered = this.#unanswered.slice(isNewest ? upTo + 1 : upTo);
  }

  /**
   * Stores the status of this host. A status in which the host is being installed clears an earlier
   * refusal.
   */
  #setStatus(status: string | undefined): void {
    if (status === undefined) return;
    this.#refusedIn = isBeingInstalled({ status }) ? undefined : status;
    if (this.#isFollowed && this.#refusedIn !== undefined)
      this.#options.onRefused?.(this.#refusedIn);
  }

  #positionOf(stage: string): number {
    return (ladders[this.#options.ladder] as string[]).indexOf(stage);
  }

  /**
   * This host in the list of the service; undefined if the list does not arrive in time. Stages
   * below its stage came from an earlier run, and the service would refuse them.
   */
  async #readHost(signal: AbortSignal): Promise<ListedHost | undefined> {
    const { clock, listedHost } = this.#options;
    const late = () => new Error('the list of hosts takes too long');
    const host = await limited(clock, { limit: listLimit, signal, late }, async (inner) =>
      listedHost?.(inner),
    ).catch(() => undefined);
    this.#shown = Math.max(this.#shown, this.#positionOf(host?.stage ?? ''));
    return host;
  }

  /**
   * Checks the status regularly. The service accepts a repeated stage in any status of the host,
   * and a long wait may send no report, so neither would show that the installation is over.
   */
  async #confirmRegularly(): Promise<void> {
    const ended = this.#ended.signal;
    for (;;) {
      await this.#options.clock.sleep(statusEvery, ended).catch(() => undefined);
      if (ended.aborted) return;
      await this.confirm(ended);
    }
  }

  /** Sends waiting texts at once, and waits until no request is under way, at most for `within`. */
  async #allSent(within: Millis, signal: AbortSignal): Promise<'done' | 'late' | 'stopped'> {
    this.#due.abort();
    const idle = async (): Promise<'done'> => {
      while (this.#work !== undefined) await this.#work;
      return 'done';
    };
    const settled = new AbortController();
    const late = this.#options.clock.sleep(within, AbortSignal.any([signal, settled.signal])).then(
      () => 'late' as const,
      () => 'stopped' as const,
    );
    const first = await Promise.race([idle(), late]);
    settled.abort(new Error('settled'));
    return first;
  }
}

const isSame = (one: StageReport, other: StageReport): boolean =>
  one.stage === other.stage && one.info === other.info;

/** Reports with another one at the end; it replaces a report of the same stage. */
const withNewest = (
  reports: readonly StageReport[],
  report: StageReport,
): readonly StageReport[] => [...reports.filter(({ stage }) => stage !== report.stage), report];
