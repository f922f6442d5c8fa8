// Start-up decides how soon a host is seen to work, so this file uses nothing but Node's own
// modules, and gets them through `process.getBuiltinModule`: an import would evaluate every lazy
// export of node:http, which costs as much as a whole bare Node process. node:crypto costs a
// quarter of one, so the request id, which only names a request in two logs, is made without it.
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Environment } from '../config/environment.ts';
import type { ReportRequest } from './early-report.ts';
import type { FirstReport } from './install-contract.ts';

/** After this time the reporter of the run sends the report itself. */
const answerLimit = 10_000;

/** How long loading the rest of the program waits for the request to leave. */
const departureLimit = 250;

/** A first report that is under way. */
export interface SentReport {
  readonly report: FirstReport;
  /** Resolves when the request has left, or need not be waited for any longer. */
  readonly hasLeft: Promise<void>;
}

/**
 * Sends the first report. Nothing that goes wrong here is an error: the reporter of the run sends
 * the report again, with retries, and tells what is wrong.
 */
export function sendFirstReport(request: ReportRequest, environment: Environment): SentReport {
  const { stage, info } = request;
  let leave: () => void = () => undefined;
  const hasLeft = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const timer = setTimeout(leave, departureLimit);
  const sent = answerOf(request, environment, leave).finally(() => {
    clearTimeout(timer);
    leave();
  });
  return { report: { stage, info, sent }, hasLeft };
}

async function answerOf(
  request: ReportRequest,
  environment: Environment,
  leave: () => void,
): Promise<'accepted' | 'failed'> {
  try {
    const outgoing = open(request, environment);
    const { promise, resolve } = Promise.withResolvers<'accepted' | 'failed'>();
    outgoing.once('error', () => {
      resolve('failed');
    });
    outgoing.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? 'accepted' : 'failed');
    });
    const late = setTimeout(() => outgoing.destroy(new Error('no answer in time')), answerLimit);
    // A run that has ended, stopped perhaps, must not go on as a process that waits for this answer.
    late.unref();
    outgoing.once('socket', (socket) => socket.unref());
    outgoing.end(bodyOf(request), leave);
    return await promise.finally(() => {
      clearTimeout(late);
    });
  } catch {
    return 'failed';
  }
}

/** The body as the service's own client writes it: compact, and ended by a line break. */
const bodyOf = ({ stage, info }: ReportRequest): string =>
  `${JSON.stringify({ current_stage: stage, progress_info: info })}\n`;

function open(request: ReportRequest, environment: Environment): ClientRequest {
  const { url, token, noProxy } = request;
  const body = bodyOf(request);
  const proxyEnv = noProxy === '' ? environment : withoutProxy(environment, noProxy);
  const options: RequestOptions = {
    method: 'PUT',
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-ID': requestId(),
      'X-Secret-Key': token.reveal(),
    },
  };
  if (url.protocol === 'http:') {
    const http = process.getBuiltinModule('node:http');
    return http.request(url, { ...options, agent: new http.Agent({ proxyEnv }) });
  }
  const https = process.getBuiltinModule('node:https');
  const agent = new https.Agent({ proxyEnv, ...trustOf(request) });
  return https.request(url, { ...options, agent });
}

/** A version 4 UUID (RFC 9562) by a random source that is good enough for a name. */
const requestId = (): string =>
  'xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx'.replaceAll('x', () =>
    Math.floor(Math.random() * 16).toString(16),
  );

const withoutProxy = (environment: Environment, list: string): Environment => ({
  ...environment,
  NO_PROXY: list,
  no_proxy: list,
});

function trustOf({ isInsecure, caFile }: ReportRequest): {
  readonly rejectUnauthorized?: false;
  readonly ca?: string[];
} {
  if (isInsecure) return { rejectUnauthorized: false };
  const tls = process.getBuiltinModule('node:tls');
  const system = tls.getCACertificates('system');
  const trusted = system.length > 0 ? system : tls.getCACertificates('default');
  if (caFile === '') return { ca: trusted };
  return { ca: [...trusted, process.getBuiltinModule('node:fs').readFileSync(caFile, 'utf8')] };
}
