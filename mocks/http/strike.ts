import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Fault } from './fault.ts';

/** What a fault needs to do its work. */
export interface Struck {
  readonly env: HttpBindings;
  /** The answer that would have been given. */
  readonly answer: () => Promise<Response>;
  /** Closes the listening socket for a time. */
  readonly refuse: (milliseconds: number) => void;
}

/** Lets a fault strike a request and gives what the client gets instead of the answer. */
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
