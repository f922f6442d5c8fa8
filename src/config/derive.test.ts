import { describe, expect, it } from 'vitest';
import { derive } from './derive.ts';
import type { SettingKey } from './keys.ts';
import type { Given } from './layer.ts';

const given = (values: Partial<Record<SettingKey, unknown>>): Map<SettingKey, Given> =>
  new Map(
    Object.entries(values).map(([key, value]) => [key as SettingKey, { value, origin: 'test' }]),
  );

describe('derive', () => {
  it.each<[string, Partial<Record<SettingKey, unknown>>, SettingKey, unknown]>([
    ['an infra-env is the cluster', { 'cluster.id': 'c' }, 'cluster.infraEnvId', 'c'],
    [
      'an empty infra-env is the cluster',
      { 'cluster.id': 'c', 'cluster.infraEnvId': '' },
      'cluster.infraEnvId',
      'c',
    ],
    [
      'an infra-env that is given stays',
      { 'cluster.id': 'c', 'cluster.infraEnvId': 'i' },
      'cluster.infraEnvId',
      'i',
    ],
    [
      'a worker counts no control plane',
      { role: 'worker', 'cluster.controlPlaneCount': 1 },
      'cluster.controlPlaneCount',
      0,
    ],
    [
      'a master keeps the count',
      { role: 'master', 'cluster.controlPlaneCount': 1 },
      'cluster.controlPlaneCount',
      1,
    ],
    [
      'a dry run has a log of its own',
      { 'host.reach': 'dry', 'dry.hostId': 'h' },
      'log.file',
      '/var/log/assisted-installer-h.log',
    ],
    [
      'a log that is given stays',
      { 'host.reach': 'dry', 'dry.hostId': 'h', 'log.file': '/x' },
      'log.file',
      '/x',
    ],
    ['a real run keeps the log', { 'dry.hostId': 'h' }, 'log.file', undefined],
  ])('%s', (...[, values, key, value]) => {
    expect(derive(given(values)).get(key)?.value).toBe(value);
  });
});
