import { z } from 'zod';

const occurrence = {
  /** Regular expression on `METHOD /path?query`: which requests are hit; all unless given. */
  on: z.string().default('.'),
  /**
   * Regular expression on `METHOD /path?query BODY`: the fault begins with the first request that
   * fits. Without it the fault begins with the first request that `on` fits.
   */
  from: z.string().optional(),
  /** How long the fault lasts from its beginning; for ever unless given. */
  forSeconds: z.number().positive().optional(),
  /** How many requests are hit at most. */
  times: z.int().positive().optional(),
};

/**
 * One way in which a server of the lab misbehaves, and when. `status` answers with an error;
 * `cut` ends the connection inside the body of the answer; `slow` holds the answer back; `hang`
 * never answers; `refuse` closes the listening socket, so that connections are refused.
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

/** What a plan of faults looks at in a request. */
interface FaultyRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly body: string;
}

/** Decides request by request which fault strikes. */
export interface FaultPlan {
  /** Adds a fault while the server runs. */
  readonly add: (fault: Fault) => void;
  /** The fault that hits this request, or undefined. Counts the request. */
  readonly decide: (request: FaultyRequest) => Fault | undefined;
  /** How many requests were hit so far. */
  readonly hits: () => number;
}

interface Planned {
  readonly fault: Fault;
  begun: number | undefined;
  hits: number;
}

/** Makes a plan of faults; `now` gives milliseconds. */
export function faultPlan(faults: readonly Fault[], now: () => number = Date.now): FaultPlan {
  const planned = faults.map(plannedFault);
  return {
    add: (fault) => {
      planned.push(plannedFault(fault));
    },
    decide: (request) => {
      for (const one of planned) begin(one, request, now());
      const hit = planned.find((one) => strikes(one, request, now()));
      if (hit === undefined) return undefined;
      hit.hits += 1;
      return hit.fault;
    },
    hits: () => planned.reduce((sum, { hits }) => sum + hits, 0),
  };
}

const plannedFault = (fault: Fault): Planned => ({ fault, begun: undefined, hits: 0 });

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

function strikes({ fault, begun, hits }: Planned, request: FaultyRequest, now: number): boolean {
  if (begun === undefined || hits >= (fault.times ?? Infinity)) return false;
  if (now - begun >= (fault.forSeconds ?? Infinity) * 1000) return false;
  return new RegExp(fault.on).test(lineOf(request));
}
