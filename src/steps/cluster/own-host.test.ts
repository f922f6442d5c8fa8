import { describe, expect, it } from 'vitest';
import { parseAddresses } from './own-host.ts';

const link = (...addresses: readonly object[]) => ({ ifname: 'x', addr_info: addresses });
const v4 = (local: string, prefixlen: number, dynamic?: boolean) => ({
  family: 'inet',
  local,
  prefixlen,
  scope: 'global',
  ...(dynamic === undefined ? {} : { dynamic }),
});
const v6 = (local: string, prefixlen: number, dynamic?: boolean) => ({
  ...v4(local, prefixlen, dynamic),
  family: 'inet6',
});

describe('the addresses of a host', () => {
  it.each<[string, unknown, readonly string[]]>([
    [
      'of every link',
      [link(v4('192.0.2.7', 24)), link(v6('2001:db8::7', 64))],
      ['192.0.2.7', '2001:db8::7'],
    ],
    ['of a lease for one address', [link(v6('2001:db8::7', 128, true))], ['2001:db8::7']],
    [
      'without those of keepalived',
      [link(v4('192.0.2.7', 24), v4('192.0.2.1', 32), v6('2001:db8::1', 128))],
      ['192.0.2.7'],
    ],
    ['of a link without any', [{ ifname: 'x' }, {}], []],
    ['of no link', [], []],
    ['of something else', { addr_info: [] }, []],
  ])('%s', (_, output, addresses) => {
    expect(parseAddresses(JSON.stringify(output))).toEqual(addresses);
  });

  it('are none where the output cannot be read', () => {
    expect(parseAddresses('Object "x" is unknown')).toEqual([]);
  });
});
