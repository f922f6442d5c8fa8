// Makes HTTP that nobody means well with, of a message that is right. The same seed makes the same bytes.
import { gzipSync } from 'node:zlib';
import { forged, randomOf } from './forge.ts';

/** What somebody sends on one connection. */
export interface ForgedBytes {
  /** Perhaps without end; nothing is asked for before the peer has taken what came. */
  readonly chunks: Iterable<Buffer>;
  /** One byte at a time. */
  readonly isSlow: boolean;
  /** What follows: the connection is closed, reset, or stays open in silence. */
  readonly then: 'close' | 'reset' | 'silence';
}

/** An answer that is right. */
export interface RightAnswer {
  readonly status: number;
  readonly body: Buffer;
}

type Pick = <T>(list: readonly T[]) => T;

const kib = 1024;
const long = (unit: string, bytes: number): string => unit.repeat(bytes / unit.length);
const many = (line: (n: number) => string, count: number): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('');

function* endless(unit: Buffer | string): Generator<Buffer> {
  const bytes = Buffer.from(unit);
  const chunk = bytes.length === 0 ? Buffer.alloc(1) : bytes;
  const block = Buffer.concat(
    Array.from({ length: Math.ceil((64 * kib) / chunk.length) }, () => chunk),
  );
  for (;;) yield block;
}

/** A gigabyte of zeros in a megabyte. */
const bomb = (() => {
  let made: Buffer | undefined;
  return () => (made ??= gzipSync(Buffer.alloc(256 * kib ** 2), { level: 9 }));
})();

const statusLines: readonly string[] = [
  'HTTP/1.1 999 x',
  'HTTP/1.1 000 x',
  'HTTP/1.1 99999999999999999999 x',
  'HTTP/1.1 -1 x',
  'HTTP/1.1  200',
  'HTTP/9.9 200 OK',
  'HTTP/2 200',
  'ICY 200 OK',
  '<html>',
  '200 OK',
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 103 Early Hints',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 205 Reset',
  'HTTP/1.1 206 Partial',
  'HTTP/1.1 304 Not Modified',
  `HTTP/1.1 200 ${long('OK', 200 * kib)}`,
  'HTTP/1.1 200 \u001b[2J\0',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 401 x',
  'HTTP/1.1 404 x',
  'HTTP/1.1 409 x',
  'HTTP/1.1 410 x',
  'HTTP/1.1 416 x',
  'HTTP/1.1 429 x',
  'HTTP/1.1 500 x',
  'HTTP/1.1 503 x',
];

const locations = (seed: number): readonly string[] => [
  `/${seed}`,
  `/${seed}/${'a/'.repeat(3000)}`,
  '//',
  '///',
  'http://',
  'http://127.0.0.1:1/',
  'https://127.0.0.1:1/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'unix:/run/s',
  '?',
  '#',
  '',
  '\u001b[31mred',
  '/a\tb',
  '/a\0b',
  'http://user:pass@127.0.0.1:1/',
  'http://[::1/',
  'http://127.0.0.1:99999/',
  long('../', 12 * kib),
  '\\\\host\\share',
  'http://\u00ad/',
  'data:,a',
];

const lengths: readonly string[] = [
  '-1',
  '0',
  '1',
  '+5',
  '0x10',
  '5, 5',
  '5, 6',
  '99999999999999999999',
  '9007199254740993',
  '1e3',
  '',
  'a',
  '5\r\nContent-Length: 6',
];
const codings: readonly string[] = [
  'chunked',
  'gzip, chunked',
  'chunked, chunked',
  'xchunked',
  'identity',
  'chunked\r\nContent-Length: 3',
  'Chunked ',
  '',
];
const waits: readonly string[] = [
  '99999999999999999999',
  '-1',
  '1e9',
  'NaN',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  '0',
  long('9', 8 * kib),
  '',
];

/** Headers that nobody needs. */
const headers = (seed: number): readonly (() => string)[] => [
  () => many((n) => `x${n}: a\r\n`, 5000),
  () => `x: ${long('a', 300 * kib)}\r\n`,
  () => `${long('a', 300 * kib)}: x\r\n`,
  () => 'x: a\0b\r\n',
  () => 'no colon\r\n',
  () => ' folded: a\r\n b\r\n',
  () => 'x : a\r\n',
  () => ': a\r\n',
  () => 'x: a\nb: c\r\n',
  () => 'x: \u001b[2J\xff\r\n',
  () => many((n) => `Set-Cookie: c${n}=${long('a', 100)}\r\n`, 100),
  () => 'Connection: upgrade\r\nUpgrade: h2c\r\n',
  () => 'Keep-Alive: timeout=99999999999\r\n',
  () => 'Connection: close, keep-alive\r\n',
  () => 'Content-Encoding: gzip\r\n',
  () => 'Content-Encoding: br, gzip, zstd\r\n',
  () => 'Content-Type: text/html\r\n',
  () => `Content-Type: ${long('a;', 8 * kib)}\r\n`,
  () => '__proto__: a\r\nconstructor: b\r\nprototype: c\r\n',
  () => 'Content-Range: bytes 0-99999999999/*\r\n',
  ...waits.map((wait) => () => `Retry-After: ${wait}\r\n`),
  ...lengths.map((length) => () => `Content-Length: ${length}\r\n`),
  ...codings.map((coding) => () => `Transfer-Encoding: ${coding}\r\n`),
  ...locations(seed).map((to) => () => `Location: ${to}\r\n`),
];

const sizes: readonly string[] = [
  'zz',
  '-1',
  'FFFFFFFFFFFFFFFF',
  'FFFFFFFFFFFFFFFFFF',
  '',
  '0x5',
  '5 ',
  '00000000000005',
  '7FFFFFFF',
];

/** The same body in chunks, of which some are wrong. */
function* chunked(body: Buffer, seed: number): Generator<Buffer> {
  const random = randomOf(seed);
  const pick: Pick = (list) => list[Math.floor(random() * list.length)]!;
  const right = Buffer.concat([
    Buffer.from(`${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n'),
  ]);
  const end = Buffer.from('0\r\n\r\n');
  yield* pick<() => Iterable<Buffer>>([
    () => [right, end],
    () => [right, Buffer.from(`${pick(sizes)}\r\n`), end],
    () => [right],
    () => [right, Buffer.from('0\r\n'), Buffer.from(many((n) => `t${n}: a\r\n`, 10_000))],
    () =>
      (function* (): Generator<Buffer> {
        yield right;
        yield Buffer.from('0\r\n');
        yield* endless('t: a\r\n');
      })(),
    () =>
      (function* (): Generator<Buffer> {
        yield Buffer.from('5;');
        yield* endless('a=b;');
      })(),
    () =>
      (function* (): Generator<Buffer> {
        yield* endless('1\r\n \r\n');
      })(),
    () => endless(right),
    () => [Buffer.from(many((n) => `1\r\n${String(n % 10)}\r\n`, 100_000)), end],
  ])();
}

/** An answer to one request: nearly right, with one to three changes. */
export function forgedAnswer(right: RightAnswer, seed: number): ForgedBytes {
  const random = randomOf(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const pick: Pick = (list) => list[below(list.length)]!;
  const chance = (of: number): boolean => random() < of;
  const body = chance(0.6) ? forged(right.body, seed) : right.body;
  const status = chance(0.4) ? pick(statusLines) : `HTTP/1.1 ${right.status} OK`;
  let head = `${status}\r\nContent-Type: application/json\r\n`;
  // A redirect says where to.
  if (chance(0.25))
    head = `HTTP/1.1 30${pick([1, 2, 3, 7, 8])} x\r\nLocation: ${pick(locations(seed))}\r\n`;
  for (let count = below(3); count > 0; count -= 1) head += pick(headers(seed))();
  const whole = (framing: string, chunks: Iterable<Buffer>): Iterable<Buffer> =>
    (function* (): Generator<Buffer> {
      yield Buffer.from(`${head}${framing}\r\n`, 'latin1');
      yield* chunks;
    })();
  const length = `Content-Length: ${body.length}\r\n`;
  const chunks = pick<() => Iterable<Buffer>>([
    () => whole(length, [body]),
    () => whole(length, [body]),
    () => whole('', [body]),
    () => whole('', endless(body)),
    () =>
      whole(
        '',
        endless(
          pick([
            'a',
            '[',
            '{"a":',
            ' ',
            '"',
            '\\',
            '\n',
            '{}\n',
            '{"hosts":[',
            '{"id":"a"},',
            '\0',
          ]),
        ),
      ),
    () => whole(length, [body, Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad`)]),
    () => whole(length, endless(body)),
    () => whole(`Content-Length: ${body.length + 1 + below(1000)}\r\n`, [body]),
    () => whole(`Content-Length: ${below(body.length + 1)}\r\n`, [body]),
    () => whole('Content-Encoding: gzip\r\n', [bomb()]),
    () => whole(`Content-Encoding: gzip\r\nContent-Length: ${bomb().length}\r\n`, [bomb()]),
    () => whole('Transfer-Encoding: chunked\r\n', chunked(body, seed)),
    () => whole('Transfer-Encoding: chunked\r\n', chunked(body, seed + 1)),
    () => whole('', endless('x: a\r\n')),
    () => endless('HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'),
    () => endless('HTTP/1.1 100 Continue\r\n\r\n'),
    () => endless(pick(['\r\n', 'H', '\0', 'HTTP/1.1 200 ', '\x16\x03\x01'])),
    () => [forged(Buffer.concat([Buffer.from(head + length + '\r\n', 'latin1'), body]), seed)],
    () => [],
  ])();
  return { chunks, isSlow: chance(0.1), then: pick(['close', 'close', 'reset', 'silence']) };
}

/** What a client sends to a server that answers GET, on each of its connections. */
export interface ForgedRequest extends ForgedBytes {
  /** More connections than the server takes. */
  readonly isCrowd: boolean;
  /** Reads nothing of what it is answered. */
  readonly isDeaf: boolean;
}

/** Requests of one client, of a request that is right. */
export function forgedRequest(right: string, seed: number): ForgedRequest {
  const random = randomOf(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const pick: Pick = (list) => list[below(list.length)]!;
  const with_ = (lines: string): Buffer =>
    Buffer.from(right.replace('\r\n\r\n', `\r\n${lines}\r\n`), 'latin1');
  const post = (lines: string): Buffer =>
    Buffer.from(
      with_(lines)
        .toString('latin1')
        .replace('GET', pick(['POST', 'GET', 'PUT', 'HEAD', 'OPTIONS'])),
      'latin1',
    );
  const followed = (first: Buffer, more: Iterable<Buffer>): Iterable<Buffer> =>
    (function* (): Generator<Buffer> {
      yield first;
      yield* more;
    })();
  const smuggled = Buffer.from(`0\r\n\r\n${right}`);
  const chunks = pick<() => Iterable<Buffer>>([
    () => [Buffer.from(right.slice(0, below(right.length)))],
    () => [Buffer.from(right.slice(0, below(right.length)))],
    () => [with_('Host: evil.example\r\n')],
    () => [with_(pick(headers(seed))())],
    () => [with_(pick(headers(seed))() + pick(headers(seed))())],
    () => followed(with_('').subarray(0, -2), endless('x: a\r\n')),
    () => followed(Buffer.from('GET /'), endless('a')),
    () => followed(post('Transfer-Encoding: chunked\r\n'), endless('5\r\nhello\r\n')),
    () => followed(post('Transfer-Encoding: chunked\r\n'), chunked(Buffer.from('hello'), seed)),
    () => followed(post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n'), [smuggled]),
    () => followed(post(`Content-Length: ${pick(lengths)}\r\n`), [smuggled]),
    () => followed(post('Content-Length: 99999999999\r\n'), endless('a')),
    () => [Buffer.from(right.repeat(5000))],
    () => endless(right),
    () => endless(pick(['\r\n', 'G', '\0', '\x16\x03\x01\x02\0'])),
    () => [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    () => [
      Buffer.from(
        right.replace(
          'GET',
          pick(['CONNECT', 'TRACE', 'get', 'G\0T', 'PROPFIND', long('A', 100 * kib)]),
        ),
      ),
    ],
    () => [
      Buffer.from(
        right.replace(
          / \S+ HTTP/,
          ` ${pick(['*', 'http://evil.example/', '//', '/%00', '/%zz', '/..', `/${long('a', 15 * kib)}`, '/?' + long('a=b&', 12 * kib)])} HTTP`,
        ),
      ),
    ],
    () => [
      with_(
        pick([
          'Expect: 100-continue\r\n',
          'Expect: x\r\n',
          'Upgrade: websocket\r\nConnection: upgrade\r\n',
          'Connection: x\r\n',
        ]),
      ),
    ],
    () => [forged(Buffer.from(right), seed)],
    () => [Buffer.from(right)],
  ])();
  return {
    chunks,
    isSlow: random() < 0.1,
    then: pick(['close', 'reset', 'silence', 'silence']),
    isCrowd: random() < 0.25,
    isDeaf: random() < 0.4,
  };
}
