import { describe, expect, it } from 'vitest';
import type { Environment } from '../../config/environment.ts';
import type { Layer } from '../../config/layer.ts';
import { type Secret } from '../../model/secret.ts';
import { knownVariablesLayer, storeContractLayer } from './environment.ts';

const values = (layer: Layer): Record<string, unknown> =>
  Object.fromEntries([...layer].map(([key, { value }]) => [key, value]));

describe('knownVariablesLayer', () => {
  it.each<[string, Environment, Record<string, unknown>]>([
    ['nothing', {}, {}],
    ['an empty token', { PULL_SECRET_TOKEN: '' }, {}],
    ['a region', { AWS_DEFAULT_REGION: 'a' }, { 's3.region': 'a' }],
    [
      'the first of two regions',
      { AWS_REGION: 'b', AWS_DEFAULT_REGION: 'a' },
      { 's3.region': 'b' },
    ],
    [
      'a dry run',
      { DRY_ENABLE: 'true', DRY_HOST_ID: 'h' },
      { 'host.reach': 'dry', 'dry.hostId': 'h' },
    ],
    [
      'the prefix wins',
      { DRY_ENABLE: 'true', DRYCONFIG_DRY_ENABLE: 'false' },
      { 'host.reach': 'nsenter' },
    ],
    [
      'paths of a dry run',
      { DRY_FAKE_REBOOT_MARKER_PATH: '/m', DRYCONFIG_DRY_CLUSTER_HOSTS_PATH: '/c' },
      { 'dry.rebootMarker': '/m', 'dry.clusterHosts': '/c' },
    ],
  ])('reads %s', (_, environment, expected) => {
    expect(values(knownVariablesLayer(environment))).toEqual(expected);
  });

  it('keeps the token a secret, with its variable as the origin', () => {
    const given = knownVariablesLayer({ PULL_SECRET_TOKEN: 't' }).get('service.token');
    expect(given?.origin).toBe('environment PULL_SECRET_TOKEN');
    expect((given?.value as Secret).reveal()).toBe('t');
  });

  it.each([{ DRY_ENABLE: 'foo' }, { DRY_ENABLE: '' }, { DRYCONFIG_DRY_ENABLE: 'yes' }])(
    'refuses %j, as the agent does that is replaced',
    (environment) => {
      expect(() => knownVariablesLayer(environment)).toThrow(
        expect.objectContaining({ code: 'config.invalid-value', kind: 'input' }),
      );
    },
  );
});

describe('storeContractLayer', () => {
  const contract = { CLUSTER_ID: 'c', BUCKET: 'b', S3_URL: 'http://s:9000', DEVICE: '/dev/vda' };

  it('is the contract of 2020', () => {
    expect(values(storeContractLayer(contract, new Map()))).toEqual({
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

  it('refuses a store that is no URL', () => {
    expect(() => storeContractLayer({ ...contract, S3_URL: 's:9000' }, new Map())).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        message: expect.stringContaining('S3_URL') as string,
      }),
    );
  });
});
