// Where the stand-ins of a guest ask the lab: over HTTP, as a guest reaches nothing else of this
// machine.
import { execFile } from 'node:child_process';
import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Hono } from 'hono';
import { configServerLog } from '../../../mocks/cluster/kubelet.ts';
import { hostFiles } from '../../../mocks/host/files.ts';
import type { Machine } from '../../../mocks/host/machine.ts';
import { unitsOf } from '../../../mocks/host/units.ts';
import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { onceFromScript } from './stand-ins.ts';

/** How long the desk may be asked for what is not there yet. */
interface LongPoll {
  /** Before it says that there is nothing yet. */
  readonly holdMillis: number;
  readonly pollEveryMillis: number;
}

const usual: LongPoll = { holdMillis: 25_000, pollEveryMillis: 100 };

/** The asker shall ask again. */
const nothingYet = (): Response => new Response(null, { status: 503 });

/**
 * The desk of the lab. `POST /units/NAME` says that a unit has started, with files of the host as a
 * tar; `GET /units/NAME/end` is answered when it shall end; `GET /config-server-log?from=BYTE`
 * gives what is new in the log; `POST /once-from` makes Bash of an Ignition.
 */
export function deskApp(
  { units, take, configServerLogFrom }: BootstrapMirror,
  timeout: LongPoll = usual,
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
    return held(timeout, () =>
      Promise.resolve(units.isActive(name) ? undefined : new Response(`${units.stateOf(name)}\n`)),
    );
  });
  app.get('/config-server-log', ({ req }) => {
    const from = Number(req.query('from') ?? 0);
    return held(timeout, async () => {
      const text = await configServerLogFrom(from);
      return text.length === 0 ? undefined : new Response(Buffer.from(text));
    });
  });
  return app;
}

async function held(
  { holdMillis, pollEveryMillis }: LongPoll,
  poll: () => Promise<Response | undefined>,
): Promise<Response> {
  for (let left = holdMillis; ; left -= pollEveryMillis) {
    const answer = await poll();
    if (answer !== undefined) return answer;
    if (left <= 0) return nothingYet();
    // Whoever asked may be gone; that must not keep the lab from its end.
    await sleep(pollEveryMillis, undefined, { ref: false });
  }
}

/** Starts the desk on 127.0.0.1. */
export function startDesk(mirror: BootstrapMirror): Promise<MockServer> {
  const app = deskApp(mirror);
  return startMockServer({ answer: (request) => app.fetch(request) });
}

// What the cluster outside sees of a bootstrap host that is a virtual machine.

/** The files that such a host has given away and gets, and the units that it has started. */
export interface BootstrapMirror extends Pick<Machine, 'files' | 'units'> {
  /** Takes files that the host gives, as a tar. */
  readonly take: (tar: Uint8Array) => Promise<void>;
  /** What the log of its machine-config-server has from a byte on. */
  readonly configServerLogFrom: (byte: number) => Promise<Uint8Array>;
}

/** Units that the cluster simulates. */
const simulatedUnits = ['bootkube.service', 'progress.service'];

/** Makes a mirror whose files lie below a folder. */
export function bootstrapMirror(root: string): BootstrapMirror {
  const files = hostFiles(root);
  return {
    files,
    units: unitsOf([], simulatedUnits),
    take: async (tar) => {
      const unpacking = promisify(execFile)('tar', ['--extract', '--directory', root]);
      unpacking.child.stdin?.end(tar);
      await unpacking;
    },
    configServerLogFrom: async (byte) => {
      const path = await files.real(`/var/log/containers/${configServerLog}`);
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      );
      if (size <= byte) return new Uint8Array();
      await using log = await open(path);
      const { buffer } = await log.read(Buffer.alloc(size - byte), 0, size - byte, byte);
      return buffer;
    },
  };
}
