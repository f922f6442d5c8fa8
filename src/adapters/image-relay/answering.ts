import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../ports/clock.ts';
import type { RelayOutcome, RelaySource } from '../../ports/image-relay.ts';
import type { Web } from '../../ports/web.ts';
import { handOn } from './handing-on.ts';
import { handOnSignature } from './signature.ts';

/** What the relay reads with. */
export interface RelayMeans {
  readonly web: Web;
  readonly clock: Clock;
}

/** Answers requests for one image. */
export interface Answering {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  readonly outcome: () => RelayOutcome;
}

/** The path under which an image is found: its file name, which the writer shows to people. */
export function pathOf({ url }: RelaySource): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  return `/${last === '' ? 'image.raw' : last}`;
}

/** Answers with the image, with its signature, and with 404 for everything else. */
export function answering(
  { web, clock }: RelayMeans,
  source: RelaySource,
  signal: AbortSignal,
): Answering {
  const path = pathOf(source);
  let outcome: RelayOutcome = { isAsked: false, bytes: 0, resumed: 0 };
  return {
    outcome: () => outcome,
    answer: (request, response) => {
      const reading = AbortSignal.any([signal, goneSignal(response)]);
      if (request.method === 'GET' && request.url === path) {
        outcome = { isAsked: true, bytes: 0, resumed: 0 };
        const tell = (change: Partial<RelayOutcome>): void => {
          outcome = { ...outcome, ...change };
        };
        void handOn({ source, read: { web, clock, signal: reading }, response, tell });
      } else if (isForSignature(request, source)) {
        void handOnSignature(web, source.url, { response, signal: reading });
      } else {
        response.writeHead(404).end();
      }
    },
  };
}

/** With a digest a signature adds nothing, and asking for one may cost time. */
const isForSignature = (request: IncomingMessage, source: RelaySource): boolean =>
  request.method === 'GET' &&
  request.url === `${pathOf(source)}.sig` &&
  source.sha256 === undefined;

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort(new Error('the reader has gone'));
  });
  return gone.signal;
}
