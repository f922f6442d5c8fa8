import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { z } from 'zod';

const occurrence = {
  /**
   * Regular expression on `METHOD /path?query` for the requests that the fault hits; default: all.
   */
  on: z.string().default('.'),
  /**
   * Regular expression on `METHOD /path?query BODY`: the fault begins with the first matching
   * request. Without it, the fault begins with the first request that matches `on`.
   */
  from: z.string().optional(),
  /** Duration of the fault from its beginning; default: for ever. */
  forSeconds: z.number().positive().optional(),
  /** Maximum number of requests that the fault hits. */
  times: z.int().positive().optional(),
};

/**
 * A fault of a lab server, and when it occurs. `status` answers with an error; `cut` ends the
 * connection inside the body of the answer; `slow` delays the answer; `hang` never answers;
 * `refuse` closes the listening socket, so that connections are refused.
 */
export const Fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('status'), status: z.int().min(400).max(599), ...occurrence }),
  z.strictObject({ kind: z.literal('cut'), atPercent: z.number().min(0).max(99), ...occurrence }),
  z.strictObject({ kind: z.literal('slow'), delaySeconds: z.number().positive(), ...occurrence }),
  z.strictObject({ kind: z.literal('hang'), ...occurrence }),
  z.strictObject({
    kind: z.literal('refuse'),
    ...occurrence,
    forSeconds: z.number().positive(),
  }),
]);
export type Fault = z.infer<typeof Fault>;

/** The parts of a request on which faults depend. */
interface FaultyRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly body: string;
}

/** A request that a fault has hit. */
export interface Strike {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly what: string;
}

interface Planned {
  readonly fault: Fault;
  begun: number | undefined;
  hits: number;
  isOver?: true;
}

/**
 * Makes a plan of faults, which decides for each request whether a fault hits it; `now` returns
 * milliseconds.
 */
export function faultPlan(faults: readonly Fault[], now: () => number = Date.now) {
  const planned = faults.map(plannedFault);
  const struck: Strike[] = [];
  return {
    /** The hit requests, each with its fault. */
    struck: struck as readonly Strike[],
    /** Adds a fault while the server runs; returns the function that ends it. */
    add: (fault: Fault): (() => void) => {
      const added = plannedFault(fault);
      planned.push(added);
      return () => {
        added.isOver = true;
      };
    },
    /** The fault that hits this request, or undefined. Counts the request. */
    decide: (request: FaultyRequest): Fault | undefined => {
      for (const one of planned) begin(one, request, now());
      const hit = planned.find((one) => strikes(one, request, now()));
      if (hit === undefined) return undefined;
      hit.hits += 1;
      struck.push({ at: now(), what: strikeText(hit.fault, lineOf(request)) });
      return hit.fault;
    },
    /** Number of requests hit so far. */
    hits: (): number => planned.reduce((sum, { hits }) => sum + hits, 0),
  };
}

const plannedFault = (fault: Fault): Planned => ({ fault, begun: undefined, hits: 0 });

function strikeText(fault: Fault, request: string): string {
  switch (fault.kind) {
    case 'status':
      return `answers ${fault.status} to ${request}`;
    case 'slow':
      return `answers ${fault.delaySeconds} s later to ${request}`;
    case 'hang':
      return `does not answer to ${request}`;
    case 'refuse':
      return `refuses connections for ${fault.forSeconds} s from ${request} on`;
    case 'cut':
      return `cuts its answer to ${request} at ${fault.atPercent} %`;
  }
}

const lineOf = ({ method, path }: FaultyRequest): string => `${method} ${path}`;

function begin(planned: Planned, request: FaultyRequest, now: number): void {
  if (planned.begun !== undefined) return;
  const { from, on } = planned.fault;
  const fits =
    from === undefined
      ? new RegExp(on).test(lineOf(request))
      : new RegExp(from).test(`${lineOf(request)} ${request.body}`);
  if (fits) planned.begun = now;
}

function strikes(planned: Planned, request: FaultyRequest, now: number): boolean {
  const { fault, begun, hits, isOver = false } = planned;
  if (begun === undefined || isOver || hits >= (fault.times ?? Infinity)) return false;
  if (now - begun >= (fault.forSeconds ?? Infinity) * 1000) return false;
  return new RegExp(fault.on).test(lineOf(request));
}

/** Inputs of a fault. */
interface Struck {
  readonly env: HttpBindings;
  /** The answer without the fault. */
  readonly answer: () => Promise<Response>;
  /** Closes the listening socket for a time. */
  readonly refuse: (milliseconds: number) => void;
}

/** Applies a fault to a request; resolves with the client's answer. */
export async function strike(fault: Fault, { env, answer, refuse }: Struck): Promise<Response> {
  switch (fault.kind) {
    case 'status':
      return Response.json(
        { code: fault.status, message: 'a fault of the lab' },
        { status: fault.status },
      );
    case 'slow':
      await sleep(fault.delaySeconds * 1000);
      return answer();
    case 'hang':
      await once(env.outgoing, 'close');
      return RESPONSE_ALREADY_SENT;
    case 'refuse':
      refuse(fault.forSeconds * 1000);
      env.outgoing.destroy();
      return RESPONSE_ALREADY_SENT;
    case 'cut':
      return cut(await answer(), { env, atPercent: fault.atPercent });
  }
}

async function cut(
  whole: Response,
  { env, atPercent }: { readonly env: HttpBindings; readonly atPercent: number },
): Promise<Response> {
  const body = Buffer.from(await whole.arrayBuffer());
  const kept = body.subarray(0, Math.floor((body.length * atPercent) / 100));
  env.outgoing.writeHead(whole.status, {
    ...Object.fromEntries(whole.headers),
    'content-length': body.length,
  });
  env.outgoing.write(kept, () => env.outgoing.destroy());
  await once(env.outgoing, 'close');
  return RESPONSE_ALREADY_SENT;
}
