import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress, LookupAllOptions, LookupOptions } from 'node:dns';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressesInHosts, hostLookup, namesToAsk, readResolvConf } from './host-lookup.ts';
import { seconds } from '../../model/duration.ts';
import { fakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';

/** Names that the server on loopback knows; it says of any other that there is none. */
const zone: Readonly<Record<string, readonly string[]>> = {
  'api-int.c.example': ['10.0.0.5', '10.0.0.6', 'fd00::5'],
  'six.example': ['fd00::6'],
};

let server: Socket;
let asked: string[];
let clock: FakeClock;
let host: ReturnType<typeof fakeHost>;
let fellBack: string[];
/** Type of the questions that the server leaves without an answer. */
let silentFor: number | undefined;

beforeEach(async () => {
  silentFor = undefined;
  asked = [];
  fellBack = [];
  clock = fakeClock({ auto: false });
  host = fakeHost().withFile('/etc/resolv.conf', 'search c.example\nnameserver 127.0.0.1\n');
  server = createSocket('udp4', (query, from) => {
    const { name, type } = queryIn(query);
    asked.push(`${name} ${type === 1 ? 'A' : 'AAAA'}`);
    if (type === silentFor) return;
    server.send(answerTo(query, name, type), from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
});

interface Query {
  readonly name: string;
  readonly type: number;
}

/** RFC 1035, 4.1.2: labels behind the header of 12 bytes, then type and class. */
function queryIn(query: Buffer): Query {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1) };
}

function answerTo(query: Buffer, name: string, type: number): Buffer {
  const known = zone[name];
  const records = (known ?? [])
    .filter((address) => address.includes(':') === (type === 28))
    .map((address) => {
      const data = address.includes(':')
        ? Buffer.from(`fd00${'0'.repeat(24)}000${address.slice(-1)}`, 'hex')
        : Buffer.from(address.split('.').map(Number));
      const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 9, 0, data.length]);
      return Buffer.concat([head, data]);
    });
  const question = query.subarray(12, 12 + name.length + 2 + 4);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function lookup(
  timeouts = seconds(60),
): (name: string, options: LookupOptions) => Promise<unknown> {
  const fallback = (
    name: string,
    _: LookupAllOptions,
    answer: (error: Error | null, found: LookupAddress[]) => void,
  ): void => {
    fellBack.push(name);
    answer(null, [{ address: '192.0.2.1', family: 4 }]);
  };
  const { port } = server.address();
  const find = hostLookup({ host, clock, port, timeouts, fallback: fallback as never });
  return (name, options) =>
    new Promise((resolve, reject) => {
      find(name, options, (error, address, family) => {
        if (error !== null) reject(error);
        else resolve(options.all === true ? address : [address, family]);
      });
    });
}

describe('a name', () => {
  it('is asked of the nameservers of the host, IPv4 first', async () => {
    expect(await lookup()('api-int.c.example', { all: true })).toEqual([
      { address: '10.0.0.5', family: 4 },
      { address: '10.0.0.6', family: 4 },
      { address: 'fd00::5', family: 6 },
    ]);
    expect(fellBack).toEqual([]);
  });

  it.each<[string, LookupOptions, unknown]>([
    ['one address', {}, ['10.0.0.5', 4]],
    ['one of IPv6', { family: 6 }, ['fd00::5', 6]],
    ['all of IPv4', { family: 4, all: true }, expect.objectContaining({ length: 2 })],
  ])('gives %s when that is asked for', async (_, options, expected) => {
    expect(await lookup()('api-int.c.example', options)).toEqual(expected);
  });

  it('of IPv6 alone is found too', async () => {
    expect(await lookup()('six.example', {})).toEqual(['fd00::6', 6]);
  });

  it.each([
    { family: 'IPv6', type: 28, name: 'api-int.c.example', first: '10.0.0.5' },
    { family: 'IPv4', type: 1, name: 'six.example', first: 'fd00::6' },
  ])('is found in time where the server is silent about $family', async ({ type, name, first }) => {
    silentFor = type;
    const found = lookup()(name, {});
    await expect.poll(clock.sleeping, { interval: 1 }).toBe(1);
    // A connection waits five seconds in all.
    await clock.advance(seconds(0.3));
    expect(await found).toContain(first);
  });

  it('without a dot gets the domains of the host', async () => {
    expect(await lookup()('api-int', {})).toEqual(['10.0.0.5', 4]);
    expect(asked).not.toContain('api-int A');
  });

  it('in the hosts file of the host is not asked for', async () => {
    host.withFile('/etc/hosts', '10.9.9.9 api-int.c.example\n');
    expect(await lookup()('api-int.c.example', {})).toEqual(['10.9.9.9', 4]);
    expect(asked).toEqual([]);
  });

  it.each(['unknown.example', 'localhost', '10.0.0.9', 'fd00::9'])(
    'that the host does not know is for the own resolver: %s',
    async (name) => {
      expect(await lookup()(name, { all: true })).toEqual([{ address: '192.0.2.1', family: 4 }]);
      expect(fellBack).toEqual([name]);
    },
  );

  it('is for the own resolver when the host names no server', async () => {
    host.withFile('/etc/resolv.conf', '');
    await lookup()('api-int.c.example', { all: true });
    expect(fellBack).toEqual(['api-int.c.example']);
  });
});

it('a resolv.conf that changes counts after five seconds', async () => {
  host.withFile('/etc/resolv.conf', '');
  const find = lookup();
  await find('api-int.c.example', { all: true });
  host.withFile('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
  await clock.advance(seconds(4));
  await find('api-int.c.example', { all: true });
  expect(fellBack).toHaveLength(2);
  await clock.advance(seconds(1));
  expect(await find('api-int.c.example', {})).toEqual(['10.0.0.5', 4]);
});

describe('a resolv.conf', () => {
  it('names its servers and its domains', () => {
    const text = [
      '# Generated by NetworkManager',
      'domain left.out',
      'search c.example  example',
      'nameserver 10.0.0.5',
      'nameserver fd00::5',
      'nameserver not-an-address',
      'nameserver 10.0.0.6',
      'nameserver 10.0.0.7',
      'options edns0',
    ].join('\n');
    expect(readResolvConf(text)).toEqual({
      nameservers: ['10.0.0.5', 'fd00::5', '10.0.0.6'],
      search: ['c.example', 'example'],
    });
  });

  it('may be empty', () => {
    expect(readResolvConf('')).toEqual({ nameservers: [], search: [] });
  });
});

it.each([
  ['api-int.c.example', ['api-int.c.example']],
  ['api-int.c.example.', ['api-int.c.example']],
  ['api-int', ['api-int.c.example', 'api-int.example', 'api-int']],
])('for %s is asked %j', (name, names) => {
  expect(namesToAsk(name, ['c.example', 'example.'])).toEqual(names);
});

it('a hosts file gives every address of a name', () => {
  const text =
    '127.0.0.1 localhost\n10.0.0.5\tAPI-int.c.example api # x api2\nfd00::5 api\nbad api';
  expect(addressesInHosts(text, 'api-int.c.example.')).toEqual(['10.0.0.5']);
  expect(addressesInHosts(text, 'api')).toEqual(['10.0.0.5', 'fd00::5']);
  expect(addressesInHosts(text, 'api2')).toEqual([]);
});
