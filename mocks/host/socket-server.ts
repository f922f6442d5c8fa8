import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Machine } from './machine.ts';
import { runCommand } from './programs.ts';

/** A simulated host that receives commands on a socket. */
export interface HostServer {
  /** Ends every running command at once, as a power loss does; later commands get no answer. */
  readonly powerOff: () => void;
  readonly powerOn: () => void;
  readonly close: () => Promise<void>;
}

/** Serves a machine on a socket for the stand-in nsenter. */
export async function serveHost(machine: Machine, socketPath: string): Promise<HostServer> {
  const open = new Set<Socket>();
  let isOn = true;
  const server = createServer((socket) => {
    if (!isOn) {
      socket.destroy();
      return;
    }
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    takeCommand(machine, socket);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    powerOff: () => {
      isOn = false;
      cut();
    },
    powerOn: () => {
      isOn = true;
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

function takeCommand(machine: Machine, socket: Socket): void {
  const stdin = new PassThrough();
  const stop = new AbortController();
  const read = frameReader();
  let argv: readonly string[] = [];
  let killedBy: string | undefined;
  const send = (letter: string, payload: string): void => {
    if (socket.writable) socket.write(encodeFrame(letter, payload));
  };
  const take = ({ letter, payload }: Frame): void => {
    if (letter === 'A') argv = decodeWords(payload);
    else if (letter === 'V') void run(environmentOf(payload));
    else if (letter === 'I') stdin.write(payload);
    else if (letter === 'E') stdin.end();
    else if (letter === 'S') {
      killedBy = payload.toString();
      stop.abort(new Error(`killed by signal ${killedBy}`));
      stdin.destroy(new Error('the command was killed'));
    }
  };
  const run = async (env: Readonly<Record<string, string>>): Promise<void> => {
    try {
      const exitCode = await runCommand(machine, {
        argv,
        env,
        stdin,
        signal: stop.signal,
        out: (text) => {
          send('O', text);
        },
        err: (text) => {
          send('R', text);
        },
      });
      send('X', String(exitCode));
    } catch (error) {
      if (killedBy === undefined) send('R', `${String(error)}\n`);
      send(killedBy === undefined ? 'X' : 'K', killedBy ?? '1');
    }
    socket.end();
  };
  socket.on('data', (bytes) => {
    read(bytes).forEach(take);
  });
  socket.on('error', () => undefined);
  stdin.on('error', () => undefined);
  socket.on('close', () => {
    stop.abort(new Error('the caller has gone'));
    stdin.destroy();
  });
}

function environmentOf(payload: Buffer): Readonly<Record<string, string>> {
  return Object.fromEntries(
    decodeWords(payload).map((word) => {
      const at = word.indexOf('=');
      return [word.slice(0, at), word.slice(at + 1)] as const;
    }),
  );
}

/**
 * Puts the stand-in nsenter into a folder, with the socket of its host in its text: the agent gives
 * its children a clean environment. It is in Perl, which is installed with git everywhere and
 * starts in a few milliseconds.
 * @throws Error if Perl is missing
 */
export async function placeStandIn(into: string, socketPath: string): Promise<void> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const perl = folders.map((one) => join(one, 'perl')).find((path) => existsSync(path));
  if (perl === undefined)
    throw new Error('no perl in PATH; install it: nsenter is simulated by it');
  const source = await readFile(join(import.meta.dirname, '..', 'bin', 'nsenter.pl'), 'utf8');
  const program = source.replace(/^#!.*\n/, `#!${perl}\n`).replace('@SOCKET@', socketPath);
  await mkdir(into, { recursive: true });
  await writeFile(join(into, 'nsenter'), program, { mode: 0o755 });
}

// The protocol between the stand-in nsenter and a simulated host: one letter, four bytes of length
// (big endian), the payload. From the program: A argv, V environment, I stdin, E end of stdin, S
// signal. From the host: O stdout, R stderr, X exit code, K killed by a signal.

/** A message of either side. */
export interface Frame {
  readonly letter: string;
  readonly payload: Buffer;
}

const HEAD_BYTES = 5;

/** The bytes of a frame. */
export function encodeFrame(letter: string, payload: string | Uint8Array): Buffer {
  const content = Buffer.from(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(letter, 'latin1');
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** Creates a parser that takes bytes as they arrive and returns the complete frames. */
export function frameReader(): (bytes: Uint8Array) => readonly Frame[] {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const frames: Frame[] = [];
    while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUInt32BE(1)) {
      const end = HEAD_BYTES + rest.readUInt32BE(1);
      frames.push({
        letter: rest.toString('latin1', 0, 1),
        payload: rest.subarray(HEAD_BYTES, end),
      });
      rest = rest.subarray(end);
    }
    return frames;
  };
}

/** Words as the program sends them: separated by line feeds, unusual bytes percent-escaped. */
export const decodeWords = (payload: Buffer): readonly string[] =>
  payload.length === 0
    ? []
    : payload
        .toString('latin1')
        .split('\n')
        .map((word) => decodeURIComponent(word));
