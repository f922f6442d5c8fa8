// Where the stand-ins of a guest ask the lab: over HTTP, as a guest reaches nothing else of this machine.
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { type MockServer, startMockServer } from '../http/mock-server.ts';
import type { BootstrapMirror } from './mirror.ts';
import { onceFromScript } from './once-from.ts';

/** How long the desk may be asked for what is not there yet. */
interface Patience {
  /** Before it says that there is nothing yet. */
  readonly holdMillis: number;
  readonly lookEveryMillis: number;
}

const usual: Patience = { holdMillis: 25_000, lookEveryMillis: 100 };

/** The asker shall ask again. */
const nothingYet = (): Response => new Response(null, { status: 503 });

/**
 * The desk of the lab. `POST /units/NAME` says that a unit has started, with files of the host as a
 * tar; `GET /units/NAME/end` is answered when it shall end; `GET /config-server-log?from=BYTE` gives what is new
 * in the log; `POST /once-from` makes Bash of an Ignition.
 */
export function deskApp(
  { units, take, configServerLogFrom }: BootstrapMirror,
  patience: Patience = usual,
): Hono {
  const app = new Hono();
  app.onError(({ message }) => new Response(`${message}\n`, { status: 500 }));
  app.post('/once-from', async ({ req }) => new Response(onceFromScript(await req.text())));
  app.post('/units/:name', async ({ req }) => {
    const tar = new Uint8Array(await req.arrayBuffer());
    if (tar.length > 0) await take(tar);
    return new Response(null, { status: units.start(req.param('name')) ? 204 : 404 });
  });
  app.get('/units/:name/end', ({ req }) => {
    const name = req.param('name');
    return held(patience, () =>
      Promise.resolve(units.isActive(name) ? undefined : new Response(`${units.stateOf(name)}\n`)),
    );
  });
  app.get('/config-server-log', ({ req }) => {
    const from = Number(req.query('from') ?? 0);
    return held(patience, async () => {
      const text = await configServerLogFrom(from);
      return text.length === 0 ? undefined : new Response(Buffer.from(text));
    });
  });
  return app;
}

async function held(
  { holdMillis, lookEveryMillis }: Patience,
  look: () => Promise<Response | undefined>,
): Promise<Response> {
  for (let left = holdMillis; ; left -= lookEveryMillis) {
    const answer = await look();
    if (answer !== undefined) return answer;
    if (left <= 0) return nothingYet();
    // Whoever asked may be gone; that must not keep the lab from its end.
    await sleep(lookEveryMillis, undefined, { ref: false });
  }
}

/** Starts the desk on 127.0.0.1. */
export function startDesk(mirror: BootstrapMirror): Promise<MockServer> {
  const app = deskApp(mirror);
  return startMockServer({ answer: (request) => app.fetch(request) });
}
