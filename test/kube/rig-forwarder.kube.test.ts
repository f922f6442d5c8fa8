import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Forwarder, startForwarder } from '../../mocks/kube/forwarder.ts';

/** Longer than a byte needs over loopback. */
const A_WHILE_MILLIS = 150;

interface Echo {
  readonly server: Server;
  readonly port: number;
  readonly sockets: Set<Socket>;
}

/** Answers each chunk of text with its own name and the text. */
async function startEcho(name: string): Promise<Echo> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (bytes) => socket.write(`${name}:${bytes.toString()}`));
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, sockets };
}

function endEcho({ server, sockets }: Echo): void {
  sockets.forEach((socket) => socket.destroy());
  server.close();
}

/** A client that writes down what it hears. */
async function dial(port: number) {
  const socket = connect(port, '127.0.0.1');
  const heard: string[] = [];
  socket.on('data', (bytes) => heard.push(bytes.toString()));
  socket.on('error', (error) => heard.push((error as NodeJS.ErrnoException).code ?? 'error'));
  socket.on('end', () => heard.push('end'));
  await once(socket, 'connect');
  return { socket, heard, send: (text: string) => socket.write(text) };
}

/** What could have passed has: another forwarder has brought a later question and its answer. */
async function askElsewhere(): Promise<void> {
  const other = await startForwarder(second);
  const { socket, heard, send } = await dial(other.port);
  send('later');
  await expect.poll(() => heard).toEqual(['second:later']);
  socket.destroy();
  await other.close();
}

let first: Echo;
let second: Echo;
let forwarder: Forwarder;

beforeEach(async () => {
  [first, second] = [await startEcho('first'), await startEcho('second')];
  forwarder = await startForwarder(first);
});
afterEach(async () => {
  await forwarder.close();
  endEcho(first);
  endEcho(second);
});

describe('the forwarder before the API servers', () => {
  it('passes bytes both ways, and the end of a connection', async () => {
    const { socket, heard, send } = await dial(forwarder.port);
    send('hello');
    await expect.poll(() => heard).toEqual(['first:hello']);
    first.sockets.forEach((one) => one.end());
    await once(socket, 'close');
    expect(heard).toEqual(['first:hello', 'end']);
  });

  it('passes much without losing any of it', async () => {
    const { socket, heard, send } = await dial(forwarder.port);
    const text = 'x'.repeat(5_000_000);
    send(text);
    const length = () => heard.join('').replaceAll('first:', '').length;
    await expect.poll(length).toBe(text.length);
    socket.destroy();
  });

  it('brings each byte late and in order over a long line, and the end of a connection', async () => {
    forwarder.slow(2 * A_WHILE_MILLIS);
    const { socket, heard, send } = await dial(forwarder.port);
    const since = performance.now();
    send('one');
    await expect.poll(() => heard).toEqual(['first:one']);
    // A timer may fire a moment early.
    expect(performance.now() - since).toBeGreaterThan(2 * A_WHILE_MILLIS - 10);
    send('two');
    first.sockets.forEach((one) => one.end('last'));
    await once(socket, 'close');
    expect(heard.join(' ')).toMatch(/^first:one last.*end$/);
  });

  it('lets a partition lose everything, and a healed network bring it', async () => {
    const { socket, heard, send } = await dial(forwarder.port);
    send('one');
    await expect.poll(() => heard).toEqual(['first:one']);
    forwarder.partition();
    send('two');
    const late = await dial(forwarder.port);
    late.send('three');
    await askElsewhere();
    expect([heard, late.heard]).toEqual([['first:one'], []]);
    forwarder.heal();
    await expect.poll(() => heard).toEqual(['first:one', 'first:two']);
    await expect.poll(() => late.heard).toEqual(['first:three']);
    socket.destroy();
    late.socket.destroy();
  });

  it('does not tell of a server that dies during a partition until it is healed', async () => {
    const { socket, heard, send } = await dial(forwarder.port);
    send('one');
    await expect.poll(() => heard).toEqual(['first:one']);
    forwarder.partition();
    first.sockets.forEach((one) => one.resetAndDestroy());
    await askElsewhere();
    expect(heard).toEqual(['first:one']);
    forwarder.heal();
    await once(socket, 'close').catch(() => undefined);
    expect(heard).toEqual(['first:one', 'ECONNRESET']);
  });

  it('resets connections on demand and serves new ones', async () => {
    const { socket, heard } = await dial(forwarder.port);
    const closed = once(socket, 'close').catch(() => undefined);
    await expect.poll(() => first.sockets.size).toBe(1);
    forwarder.reset();
    await closed;
    expect(heard).toEqual(['ECONNRESET']);
    const next = await dial(forwarder.port);
    next.send('again');
    await expect.poll(() => next.heard).toEqual(['first:again']);
    next.socket.destroy();
  });

  it('moves new connections to another server, and resets lost ones when they speak', async () => {
    const old = await dial(forwarder.port);
    old.send('one');
    await expect.poll(() => old.heard).toEqual(['first:one']);
    forwarder.moveTo(second);
    first.sockets.forEach((one) => one.write('unheard'));
    const moved = await dial(forwarder.port);
    moved.send('two');
    await expect.poll(() => moved.heard).toEqual(['second:two']);
    expect(old.heard).toEqual(['first:one']);
    old.send('three');
    await expect.poll(() => old.heard).toEqual(['first:one', 'ECONNRESET']);
    moved.socket.destroy();
  });

  it.each([
    ['kept', ['first:one', 'first:two']],
    ['reset', ['first:one', 'ECONNRESET']],
  ] as const)('leaves open connections %s where that is asked for', async (connections, heard) => {
    const old = await dial(forwarder.port);
    old.send('one');
    await expect.poll(() => old.heard).toEqual(['first:one']);
    forwarder.moveTo(second, connections);
    old.send('two');
    await expect.poll(() => old.heard).toEqual(heard);
    old.socket.destroy();
  });

  it('resets who asks for a server that is not there', async () => {
    endEcho(first);
    const { heard } = await dial(forwarder.port);
    await expect.poll(() => heard).toEqual(['ECONNRESET']);
  });
});
