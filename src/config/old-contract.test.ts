import { describe, expect, it } from 'vitest';
import { valuesIn } from '../../test/support/layer-values.ts';
import { readFlags } from './flags.ts';
import { storeContractLayer } from './old-contract.ts';
import type { Layer } from './settings.ts';

const values = (line: string) => valuesIn(readFlags(line.split(' ')).layer);

describe('flags of earlier services', () => {
  it.each([
    [
      'reads high availability None as one node',
      '--high-availability-mode None',
      { 'cluster.controlPlaneCount': 1 },
    ],
    ['ignores high availability Full', '--high-availability-mode Full', {}],
    ['ignores an empty high availability mode', '--high-availability-mode=', {}],
    [
      'joins host and port to a URL of version 1',
      '--host h --port 8090',
      { 'service.url': 'http://h:8090', 'service.api': 'v1' },
    ],
    ['reads a host without a port', '--host h', { 'service.url': 'http://h', 'service.api': 'v1' }],
    [
      'puts an IPv6 host in brackets',
      '--host fd00::1 --port 80',
      { 'service.url': 'http://[fd00::1]:80', 'service.api': 'v1' },
    ],
    [
      'prefers a URL over a host',
      '--host h --url http://u',
      { 'service.url': 'http://u', 'service.api': 'v1' },
    ],
    ['infers version 1 from a timeout', '--installation-timeout 120', { 'service.api': 'v1' }],
    ['infers version 1 from a host name', '--host-name n', { 'service.api': 'v1' }],
    [
      'does not infer version 1 beside an infra-env',
      '--installation-timeout 120 --infra-env-id i',
      { 'cluster.infraEnvId': 'i' },
    ],
    [
      'keeps a given version',
      '--host-name n --service.api bm-inventory-v1',
      { 'service.api': 'bm-inventory-v1' },
    ],
    [
      'reads endpoint and bucket of an object store',
      '--s3-endpoint http://s --s3-bucket b',
      { 's3.endpoint': 'http://s', 's3.bucket': 'b', 'ignition.source': 's3' },
    ],
    [
      'defaults to the bucket test',
      '--s3-endpoint http://s',
      { 's3.endpoint': 'http://s', 's3.bucket': 'test', 'ignition.source': 's3' },
    ],
  ])('%s', (_, line, expected) => {
    expect(values(line)).toEqual(expected);
  });

  it.each(['--installation-timeout 120', '--host-name n', '--port 80', '--host h --url http://u'])(
    'notes that a flag has no effect in %s',
    (line) => {
      expect(readFlags(line.split(' ')).notes).toHaveLength(1);
    },
  );

  it('refuses an unknown high availability mode', () => {
    expect(() => readFlags(['--high-availability-mode', 'Some'])).toThrow(
      expect.objectContaining({ code: 'config.invalid-value' }),
    );
  });
});

describe('storeContractLayer', () => {
  const contract = { CLUSTER_ID: 'c', BUCKET: 'b', S3_URL: 'http://s:9000', DEVICE: '/dev/vda' };

  it('reads the variables of the contract of 2020', () => {
    expect(valuesIn(storeContractLayer(contract, new Map()))).toEqual({
      'ignition.source': 's3',
      's3.endpoint': 'http://s:9000',
      's3.bucket': 'b',
      'cluster.id': 'c',
      'disk.device': '/dev/vda',
    });
  });

  it('is empty when a service is configured', () => {
    const stronger: Layer = new Map([['service.url', { value: 'http://h', origin: 'flag --url' }]]);
    expect(storeContractLayer(contract, stronger).size).toBe(0);
  });

  it('ignores CLUSTER_ID and DEVICE without S3_URL and BUCKET', () => {
    expect(storeContractLayer({ CLUSTER_ID: 'c', DEVICE: '/dev/vda' }, new Map()).size).toBe(0);
  });
});
