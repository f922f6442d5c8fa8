// Start-up decides how soon a host is seen to work: what this file imports is all that is loaded
// before the first report leaves.
import { readFileSync } from 'node:fs';
import { systemClock } from '../adapters/clock.ts';
import { inventoryV2 } from '../adapters/http/inventory.ts';
import { proxiesIn } from '../adapters/http/proxies.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import { seconds } from '../model/duration.ts';
import { AgentError } from '../model/failure.ts';
import type { Secret } from '../model/secret.ts';
import type { Stage } from '../model/stage.ts';
import type { EarlyReport } from '../reporting/reporter.ts';

/** After this time the reporter of the run sends the report itself. */
const answerLimit = seconds(10);

/** How long loading the rest of the program waits for the request to leave. */
const departureLimit = 250;

/** A first report that can be sent before anything else is known. */
export interface ReportRequest {
  readonly stage: Stage;
  /** The role as it was given. */
  readonly info: string;
  /** Base URL of the inventory service. */
  readonly service: string;
  readonly infraEnvId: string;
  readonly hostId: string;
  readonly token: Secret;
  readonly isInsecure: boolean;
  /** PEM file with certificates to trust beside the system's; empty for none. */
  readonly caFile: string;
  /** Addresses that need no proxy; empty: as the environment says. */
  readonly noProxy: string;
}

/** A first report that is under way. */
export interface SentReport {
  readonly report: EarlyReport;
  /** Resolves when the request has left, or need not be waited for any longer. */
  readonly hasLeft: Promise<void>;
  /** Gives up waiting for the answer: a run that has ended must not go on as a process. */
  readonly close: () => void;
}

/**
 * Sends the first report, once. Nothing that goes wrong here is an error: the reporter of the run logs a
 * refusal, and sends again, with retries, what was not answered.
 */
export function sendFirstReport(request: ReportRequest, environment: Environment): SentReport {
  const { stage, info } = request;
  const { promise: hasLeft, resolve: leave } = Promise.withResolvers<void>();
  const timer = setTimeout(leave, departureLimit);
  const ended = new AbortController();
  const sent = answerTo(request, environment, { ended, leave }).finally(() => {
    clearTimeout(timer);
    leave();
  });
  return {
    report: { stage, info, sent },
    hasLeft,
    close: () => {
      ended.abort();
    },
  };
}

interface Departure {
  readonly ended: AbortController;
  readonly leave: () => void;
}

async function answerTo(
  request: ReportRequest,
  environment: Environment,
  { ended, leave }: Departure,
): Promise<Awaited<EarlyReport['sent']>> {
  const { infraEnvId, hostId, stage, info, isInsecure, caFile, noProxy } = request;
  try {
    const inventory = inventoryV2({
      ...{ clock: systemClock, random: systemRandom, reportLimit: answerLimit },
      ...{ url: request.service, token: request.token, clusterId: '', infraEnvId, hostId },
      connection: {
        proxies: proxiesIn(environment, noProxy),
        isInsecure,
        ...(caFile === '' || isInsecure ? {} : { ca: readFileSync(caFile, 'utf8') }),
      },
      onSent: leave,
      onRetry: () => {
        ended.abort();
      },
    });
    try {
      await inventory.report({ infraEnvId, hostId }, { stage, info }, ended.signal);
      return 'accepted';
    } finally {
      await inventory.close();
    }
  } catch (thrown) {
    const isRefusal = thrown instanceof AgentError && thrown.isFinal && !ended.signal.aborted;
    return isRefusal ? thrown : 'failed';
  }
}
