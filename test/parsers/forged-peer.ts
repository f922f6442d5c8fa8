// The other side of forged-http-run.ts, a process of its own, so that its memory and time are not counted:
// answers whoever connects, or connects to whoever listens, with forged bytes.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { forgedAnswer, type ForgedBytes, forgedRequest } from './forge-http.ts';

/** What the peer is told. */
export type PeerOrder =
  | { readonly type: 'report' }
  | {
      readonly type: 'answer';
      readonly seed: number;
      readonly status: number;
      readonly body: string;
    }
  | {
      readonly type: 'ask';
      readonly seed: number;
      readonly right: string;
      readonly port: number;
      readonly crowd: number;
    };

/** What it says when it listens, is ready to answer, or has asked. */
export interface PeerReport {
  readonly port: number;
  /** Bytes that were taken since the order before. */
  readonly bytes: number;
  /** What right requests beside a forged one were answered. */
  readonly lines: readonly string[];
}

/** What anybody takes of one connection; more is a fault. */
const most = 400 * 1024 ** 2;

/** So many come one by one; then a slow sender is an ordinary one. */
const slowBytes = 20_000;

let bytes = 0;

/** Resolves at whichever comes first; an error of a connection is what a forged one ends with. */
const oneOf = (socket: Socket, ...events: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    for (const event of events)
      socket.once(event, () => {
        resolve();
      });
  });

async function send(socket: Socket, { chunks, isSlow, then }: ForgedBytes): Promise<void> {
  let sent = 0;
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const part =
        isSlow && sent < slowBytes ? chunk.subarray(from, from + 1) : chunk.subarray(from);
      from += part.length;
      sent += part.length;
      bytes += part.length;
      const isFull = !socket.write(part);
      if (isFull) await oneOf(socket, 'drain', 'close');
      else if (part.length === 1) await new Promise(setImmediate);
      if (socket.destroyed || sent > most) return;
    }
  }
  if (then === 'close') socket.end();
  if (then === 'reset') socket.resetAndDestroy();
}

let order: PeerOrder | undefined;
let count = 0;
const server = createServer({ noDelay: true }, (socket) => {
  socket.setMaxListeners(0);
  socket.on('error', () => undefined);
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    // Whoever keeps a connection asks again on it.
    head = (head + chunk.toString('latin1')).slice(-100_000);
    if (!head.includes('\r\n\r\n') || order?.type !== 'answer') return;
    head = '';
    const { seed, status, body } = order;
    void send(
      socket,
      forgedAnswer({ status, body: Buffer.from(body, 'base64') }, seed + 1000 * count++),
    );
  });
});

/** The first line that a right request is answered with; empty where the connection ends before. */
async function probe(port: number, right: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setMaxListeners(0);
  socket.on('error', () => undefined);
  socket.write(right);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (text.includes('\r\n')) socket.destroy();
  });
  await oneOf(socket, 'close');
  return text.split('\r\n')[0] ?? '';
}

/** Round trips beside an attack: as long as they take it lasts. */
const probes = 10;

async function attack({ seed, right, port, crowd }: Ask): Promise<readonly string[]> {
  const { isCrowd, isDeaf } = forgedRequest(right, seed);
  const connections = isCrowd ? crowd : 2;
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1').setMaxListeners(0);
    socket.on('error', () => undefined);
    if (!isDeaf) socket.resume();
    void send(socket, forgedRequest(right, seed));
    return socket;
  });
  const during: string[] = [];
  while (during.length < probes) during.push(await probe(port, right));
  for (const socket of sockets) socket.destroy();
  return [...(isCrowd ? [] : during), await probe(port, right)];
}

type Ask = Extract<PeerOrder, { readonly type: 'ask' }>;

const report = (lines: readonly string[]): void => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ bytes, lines, port } satisfies PeerReport);
  bytes = 0;
};

process.on('message', (message: PeerOrder) => {
  order = message;
  count = 0;
  if (message.type === 'ask') void attack(message).then(report);
  else report([]);
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  report([]);
});
