import { describe, expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { bootcSaid } from '../../../test/support/bootc-node.ts';
import { readBootcStatus } from '../../os/bootc.ts';
import { checkBootRoom, checkFreeSpace } from './room.ts';

const { signal } = new AbortController();
const mebibyte = 1024 * 1024;
const running = '1e898fe594a5ae8bc360cb325ef0ed9839340541cc2b7430e7a58c7e72484741';
const staged = 'c9a83bf7ee63fc5d55017279ba207bee19eb9fe7f8fb3d36be813665d31fa790';

/** A host whose staged system has a kernel of 40 MiB with an initramfs of 110. */
const check = (freeMiB: number, inBoot: readonly (readonly [string, number])[]) => {
  const lines = (list: readonly (readonly [string, number])[]): string =>
    list.map(([folder, size]) => `${size * mebibyte} ${folder}`).join('\n');
  const deployment = `/ostree/deploy/default/deploy/${staged}.0/usr/lib/modules`;
  const host = fakeHost()
    .on(['find', deployment, rest])
    .prints(
      lines([
        [`${deployment}/7.2`, 40],
        [`${deployment}/7.2`, 110],
      ]),
    )
    .on(['find', '/boot/ostree', rest])
    .prints(lines(inBoot))
    .on(['df', rest])
    .prints(`Avail\n${freeMiB * mebibyte}`);
  const status = readBootcStatus(bootcSaid('status-staged.json'));
  const snapshot = {
    driver: 'bootc',
    reason: '',
    status,
    commandLine: bootcSaid('cmdline.txt'),
  } as const;
  return checkBootRoom({ host, signal }, snapshot);
};

const own = `/boot/ostree/default-${running}`;
const other = '/boot/ostree/default-ab';

describe('checkBootRoom', () => {
  it.each<[string, number, [string, number][]]>([
    ['enough free space', 150, [[own, 140]]],
    [
      'enough space with an earlier system, which ostree removes',
      30,
      [
        [own, 140],
        [other, 130],
      ],
    ],
    [
      'no free space when the kernel is already there',
      0,
      [
        [own, 40],
        [own, 110],
      ],
    ],
  ])('accepts %s', async (_, free, inBoot) => {
    await expect(check(free, inBoot)).resolves.toBeUndefined();
  });

  it('fails when earlier systems do not free enough space', async () => {
    await expect(
      check(20, [
        [own, 140],
        [other, 100],
      ]),
    ).rejects.toMatchObject({
      code: 'os.no-space',
      message:
        '/boot has 20 MiB free, and 100 MiB of earlier systems; the kernel of 10.0.2.2:5000/lab/os:2 needs 150 MiB',
    });
  });
});

describe('checkFreeSpace', () => {
  const reserve = 600 * mebibyte;
  it.each([
    [0, `     Avail\n${reserve}`, undefined],
    [0, `Avail\n${reserve - 1}`, 'os.no-space'],
    [1000, `Avail\n${reserve + 3000}`, undefined],
    [1000, `Avail\n${reserve + 2999}`, 'os.no-space'],
    [1000, 'Avail', 'command.unreadable'],
    [1000, '', 'command.unreadable'],
  ])('for %i missing bytes when df prints %j', async (missingBytes, printed, code) => {
    const host = fakeHost().on(['df', rest]).prints(printed);
    const checked = checkFreeSpace({ host, signal }, { kind: 'switch', missingBytes });
    if (code === undefined) await expect(checked).resolves.toBeUndefined();
    else await expect(checked).rejects.toMatchObject({ code });
  });

  it.each(['keep', 'unlock'] as const)('checks nothing for %s', async (kind) => {
    const checked = checkFreeSpace({ host: fakeHost(), signal }, { kind, missingBytes: 1000 });
    await expect(checked).resolves.toBeUndefined();
  });
});
