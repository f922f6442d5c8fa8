import { describe, expect, it } from 'vitest';
import { valuesIn } from '../../test/support/layer-values.ts';
import type { Secret } from '../model/secret.ts';
import { environmentLayer, knownVariablesLayer, variableOf } from './environment.ts';
import { settingKeys } from './settings.ts';

describe('environmentLayer', () => {
  it.each([
    ['role', 'BOOTWRIGHT_ROLE'],
    ['cluster.infraEnvId', 'BOOTWRIGHT_CLUSTER_INFRA_ENV_ID'],
    ['controller.serviceIps', 'BOOTWRIGHT_CONTROLLER_SERVICE_IPS'],
    ['image.sha256', 'BOOTWRIGHT_IMAGE_SHA256'],
    ['s3.secretAccessKey', 'BOOTWRIGHT_S3_SECRET_ACCESS_KEY'],
  ] as const)('reads %s from %s', (key, name) => {
    expect(variableOf(key)).toBe(name);
  });

  it('has a distinct variable for every setting', () => {
    expect(new Set(settingKeys.map(variableOf)).size).toBe(settingKeys.length);
  });

  it('records the variable as the origin and ignores empty and unrelated variables', () => {
    const layer = environmentLayer({
      BOOTWRIGHT_DISK_DEVICE: '/dev/sda',
      BOOTWRIGHT_DISK_CLEANUP: '',
      PATH: '/bin',
    });
    expect([...layer]).toEqual([
      ['disk.device', { value: '/dev/sda', origin: 'environment BOOTWRIGHT_DISK_DEVICE' }],
    ]);
  });

  it('refuses an unknown variable and suggests the nearest', () => {
    expect(() => environmentLayer({ BOOTWRIGHT_DISK_DEVISE: '/dev/sda' })).toThrow(
      expect.objectContaining({
        code: 'config.unknown-variable',
        context: { variable: 'BOOTWRIGHT_DISK_DEVISE' },
        hint: expect.stringContaining('BOOTWRIGHT_DISK_DEVICE') as string,
      }),
    );
  });
});

it('environmentLayer names the replacement of a removed setting', () => {
  expect(() => environmentLayer({ BOOTWRIGHT_HOST_REACH: 'dry' })).toThrow(
    expect.objectContaining({
      message: 'environment BOOTWRIGHT_HOST_REACH: the setting was removed',
      hint: expect.stringContaining('bootwright plan') as string,
    }),
  );
});

describe('knownVariablesLayer', () => {
  it.each([
    ['no variables', {}, {}],
    ['an empty token', { PULL_SECRET_TOKEN: '' }, {}],
    ['a region', { AWS_DEFAULT_REGION: 'a' }, { 's3.region': 'a' }],
    [
      'AWS_REGION before AWS_DEFAULT_REGION',
      { AWS_REGION: 'b', AWS_DEFAULT_REGION: 'a' },
      { 's3.region': 'b' },
    ],
    [
      'variables of a disabled dry run',
      { DRY_ENABLE: 'false', DRYCONFIG_DRY_ENABLE: '', DRY_HOST_ID: 'h' },
      {},
    ],
    [
      'proxies, upper case first as in Go, with http:// for a missing scheme',
      {
        HTTP_PROXY: 'http://upper.example:3128',
        http_proxy: 'http://lower.example:3128',
        https_proxy: 'proxy.example:3128',
        NO_PROXY: '',
        no_proxy: '10.0.0.0/8,.svc',
        ALL_PROXY: 'socks5://all.example',
      },
      {
        'proxy.http': 'http://upper.example:3128',
        'proxy.https': 'http://proxy.example:3128',
        'proxy.no': '10.0.0.0/8,.svc',
      },
    ],
  ])('reads %s', (_, environment, expected) => {
    expect(valuesIn(knownVariablesLayer(environment))).toEqual(expected);
  });

  it('reads the token as a secret and records its variable as the origin', () => {
    const given = knownVariablesLayer({ PULL_SECRET_TOKEN: 't' }).get('service.token');
    expect(given?.origin).toBe('environment PULL_SECRET_TOKEN');
    expect((given?.value as Secret | undefined)?.reveal()).toBe('t');
  });

  it('refuses NOTIFY_SOCKET, because readiness is never notified and systemd would stop the unit', () => {
    expect(() => knownVariablesLayer({ NOTIFY_SOCKET: '/run/notify' })).toThrow('NOTIFY_SOCKET');
  });

  it.each([{ DRY_ENABLE: 'true' }, { DRY_ENABLE: 'foo' }, { DRYCONFIG_DRY_ENABLE: 'yes' }])(
    'refuses the dry run %j, because the host would be installed',
    (environment) => {
      expect(() => knownVariablesLayer(environment)).toThrow(
        expect.objectContaining({
          code: 'config.invalid-value',
          kind: 'input',
          message: expect.stringContaining('this host would be installed') as string,
        }),
      );
    },
  );
});
