import { describe, expect, it } from 'vitest';
import { readFlags } from './flags.ts';
import { storeContractLayer } from './old-contract.ts';
import type { Layer } from './settings.ts';

const values = (line: string): Record<string, unknown> =>
  Object.fromEntries([...readFlags(line.split(' ')).layer].map(([key, { value }]) => [key, value]));

describe('flags of earlier services', () => {
  it.each<[string, string, Record<string, unknown>]>([
    ['one node', '--high-availability-mode None', { 'cluster.controlPlaneCount': 1 }],
    ['many nodes', '--high-availability-mode Full', {}],
    ['no mode', '--high-availability-mode=', {}],
    [
      'host and port',
      '--host h --port 8090',
      { 'service.url': 'http://h:8090', 'service.api': 'v1' },
    ],
    ['a host alone', '--host h', { 'service.url': 'http://h', 'service.api': 'v1' }],
    [
      'an IPv6 host',
      '--host fd00::1 --port 80',
      { 'service.url': 'http://[fd00::1]:80', 'service.api': 'v1' },
    ],
    [
      'a URL beats a host',
      '--host h --url http://u',
      { 'service.url': 'http://u', 'service.api': 'v1' },
    ],
    ['a time-out of version 1', '--installation-timeout 120', { 'service.api': 'v1' }],
    ['a host name of version 1', '--host-name n', { 'service.api': 'v1' }],
    [
      'an infra-env means version 2',
      '--installation-timeout 120 --infra-env-id i',
      { 'cluster.infraEnvId': 'i' },
    ],
    [
      'a version that is given stays',
      '--host-name n --service.api bm-inventory-v1',
      { 'service.api': 'bm-inventory-v1' },
    ],
    [
      'a store',
      '--s3-endpoint http://s --s3-bucket b',
      { 's3.endpoint': 'http://s', 's3.bucket': 'b', 'ignition.source': 's3' },
    ],
    [
      'a store with the bucket of that time',
      '--s3-endpoint http://s',
      { 's3.endpoint': 'http://s', 's3.bucket': 'test', 'ignition.source': 's3' },
    ],
  ])('%s', (_, line, expected) => {
    expect(values(line)).toEqual(expected);
  });

  it.each(['--installation-timeout 120', '--host-name n', '--port 80', '--host h --url http://u'])(
    'notes what has no effect: %s',
    (line) => {
      expect(readFlags(line.split(' ')).notes).toHaveLength(1);
    },
  );

  it('refuses another mode of availability', () => {
    expect(() => readFlags(['--high-availability-mode', 'Some'])).toThrow(
      expect.objectContaining({ code: 'config.invalid-value' }),
    );
  });
});

const contentOf = (layer: Layer): Record<string, unknown> =>
  Object.fromEntries([...layer].map(([key, { value }]) => [key, value]));

describe('storeContractLayer', () => {
  const contract = { CLUSTER_ID: 'c', BUCKET: 'b', S3_URL: 'http://s:9000', DEVICE: '/dev/vda' };

  it('is the contract of 2020', () => {
    expect(contentOf(storeContractLayer(contract, new Map()))).toEqual({
      'ignition.source': 's3',
      's3.endpoint': 'http://s:9000',
      's3.bucket': 'b',
      'cluster.id': 'c',
      'disk.device': '/dev/vda',
    });
  });

  it('is not meant where a service is named', () => {
    const stronger: Layer = new Map([['service.url', { value: 'http://h', origin: 'flag --url' }]]);
    expect(storeContractLayer(contract, stronger).size).toBe(0);
  });

  it('reads none of its common names without a store', () => {
    expect(storeContractLayer({ CLUSTER_ID: 'c', DEVICE: '/dev/vda' }, new Map()).size).toBe(0);
  });
});
