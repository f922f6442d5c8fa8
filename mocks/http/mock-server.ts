import type { HttpBindings } from '@hono/node-server';
import { type Fault, type FaultPlan, faultPlan } from './fault.ts';
import { type Loopback, serveLoopback } from './loopback.ts';
import { type RecordedRequest, recordOf } from './request-log.ts';
import { strike } from './strike.ts';

/** A server of the lab: it records every request and lets faults strike. */
export interface MockServer {
  readonly url: string;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly faults: FaultPlan;
  readonly close: () => Promise<void>;
}

/** How a server of the lab is started. */
export interface MockServerOptions {
  readonly answer: (request: Request) => Response | Promise<Response>;
  readonly faults?: readonly Fault[];
  /** A free port unless given. */
  readonly port?: number;
}

/** Starts a server on 127.0.0.1 around the answers of one stand-in. */
export async function startMockServer({
  answer,
  faults = [],
  port = 0,
}: MockServerOptions): Promise<MockServer> {
  const requests: RecordedRequest[] = [];
  const plan = faultPlan(faults);
  const loopback: Loopback = await serveLoopback(
    (request, env: HttpBindings) => answerOne(request, env),
    port,
  );

  async function answerOne(request: Request, env: HttpBindings): Promise<Response> {
    const body = new Uint8Array(await request.arrayBuffer());
    const record = recordOf(request, body, Date.now());
    requests.push(record);
    const fault = plan.decide(record);
    const whole = async (): Promise<Response> => answer(replay(request, body));
    const answered =
      fault === undefined
        ? await whole()
        : await strike(fault, { env, answer: whole, refuse: loopback.refuse });
    // RESPONSE_ALREADY_SENT carries 200 although nothing of the kind was sent.
    if (!env.outgoing.destroyed) record.status = answered.status;
    return answered;
  }

  return { url: loopback.url, requests, faults: plan, close: loopback.close };
}

/** The request again, its body having been read. */
const replay = (request: Request, body: Uint8Array): Request =>
  new Request(request.url, {
    method: request.method,
    headers: request.headers,
    ...(body.length === 0 ? {} : { body: Buffer.from(body) }),
  });
