import { describe, expect, it } from 'vitest';
import { parseDryHosts } from './dry-hosts.ts';

describe('parseDryHosts', () => {
  it('reads the hosts of a dry cluster', () => {
    const hosts = [{ hostname: 'm0', ip: '192.0.2.1', rebootMarkerPath: '/tmp/m0' }];
    expect(parseDryHosts(JSON.stringify(hosts), 'hosts.json')).toEqual(hosts);
  });

  it.each(['', '{', '{}', '"m0"', '[1]', '[{"ip": 4}]'])('refuses %j', (text) => {
    expect(() => parseDryHosts(text, 'hosts.json')).toThrow(
      expect.objectContaining({
        code: 'config.malformed-file',
        kind: 'input',
        context: { file: 'hosts.json' },
      }),
    );
  });
});
