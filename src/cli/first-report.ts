// Start-up decides how soon a host is seen to work: what this file imports is all that is loaded
// before the first report leaves.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readTextSync } from '../adapters/file-access.ts';
import { type Connection, connection } from '../adapters/http/connection.ts';
import { openInventory } from '../adapters/http/inventory.ts';
import { type Proxies } from '../lib/proxies.ts';
import { SecretUrl } from '../lib/secret-url.ts';
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
  readonly proxies: Proxies;
}

/** A first report that is under way. */
export interface SentReport {
  readonly report: EarlyReport;
  /** What it was sent over, for the requests of the run. */
  readonly connection: Connection;
  /** Resolves when the request has left, or need not be waited for any longer. */
  readonly hasLeft: Promise<void>;
  /** Gives up waiting for the answer: a run that has ended must not continue as a process. */
  readonly close: () => void;
}

/**
 * Sends the first report, once. Nothing that goes wrong here is an error: the reporter of the run logs a
 * refusal, and sends again, with retries, what was not answered.
 */
export function sendFirstReport(request: ReportRequest): SentReport {
  const { stage, info, proxies, isInsecure } = request;
  const ca = isInsecure ? '' : textOf(request.caFile);
  const opened = connection({ proxies, isInsecure, ca: ca ?? '' });
  const { promise: hasLeft, resolve: leave } = Promise.withResolvers<void>();
  const timer = setTimeout(leave, departureLimit);
  const ended = new AbortController();
  const answered =
    ca === undefined ? Promise.resolve('failed' as const) : answerTo(request, opened, ended);
  // No other request is under way yet.
  const left = (): void => {
    leave();
  };
  subscribe('undici:request:bodySent', left);
  const sent = answered.finally(() => {
    clearTimeout(timer);
    unsubscribe('undici:request:bodySent', left);
    leave();
  });
  return {
    report: { stage, info, sent },
    connection: opened,
    hasLeft,
    close: () => {
      ended.abort();
      void opened.close();
    },
  };
}

/** The text of a file; empty for none, undefined when it cannot be read. */
function textOf(path: string): string | undefined {
  try {
    return path === '' ? '' : readTextSync(path, 'authorities');
  } catch {
    return undefined;
  }
}

async function answerTo(
  request: ReportRequest,
  opened: Connection,
  ended: AbortController,
): Promise<Awaited<EarlyReport['sent']>> {
  const { infraEnvId, hostId, stage, info } = request;
  try {
    const { service: url, token, isInsecure: insecure } = request;
    const service = { api: 'v2', url: new SecretUrl(url), token, insecure } as const;
    const target = { service, cluster: { id: '', infraEnvId, hostId } };
    const onRetry = (): void => {
      ended.abort();
    };
    const inventory = openInventory(target, { opened, reportLimit: answerLimit, onRetry });
    await inventory.report({ infraEnvId, hostId }, { stage, info }, ended.signal);
    return 'accepted';
  } catch (thrown) {
    const isRefusal = thrown instanceof AgentError && thrown.isFinal && !ended.signal.aborted;
    return isRefusal ? thrown : 'failed';
  }
}
