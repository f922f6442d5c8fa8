import { describe, expect, it } from 'vitest';
import { environmentLayer, variableOf } from './environment.ts';
import { settingKeys } from './keys.ts';

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

  it('has a variable of its own for every setting', () => {
    expect(new Set(settingKeys.map(variableOf)).size).toBe(settingKeys.length);
  });

  it('keeps the variable as the origin and leaves out what is empty or foreign', () => {
    const layer = environmentLayer({
      BOOTWRIGHT_DISK_DEVICE: '/dev/sda',
      BOOTWRIGHT_DISK_CLEANUP: '',
      PATH: '/bin',
    });
    expect([...layer]).toEqual([
      ['disk.device', { value: '/dev/sda', origin: 'environment BOOTWRIGHT_DISK_DEVICE' }],
    ]);
  });

  it('refuses a name that is no setting, and offers the nearest', () => {
    expect(() => environmentLayer({ BOOTWRIGHT_DISK_DEVISE: '/dev/sda' })).toThrow(
      expect.objectContaining({
        code: 'config.unknown-variable',
        context: { variable: 'BOOTWRIGHT_DISK_DEVISE' },
        hint: expect.stringContaining('BOOTWRIGHT_DISK_DEVICE') as string,
      }),
    );
  });
});
