import { describe, expect, it } from 'vitest';
import { mistakeInWriterArgs } from './writer-args.ts';

describe('mistakeInWriterArgs', () => {
  it.each<[readonly string[]]>([
    [[]],
    [['--append-karg', 'ip=eth0:dhcp', '--delete-karg', 'quiet']],
    [['--append-karg=--x', '-n']],
    [['--copy-network', '--network-dir', '/etc/x']],
    [['-n', '-p', 'metal', '-pqemu']],
    [['-np', 'metal']],
    [['--save-partindex', '-7', '--save-partlabel', 'data*,x']],
    [['--append-karg', '']],
  ])('takes %j', (args) => {
    expect(mistakeInWriterArgs(args)).toBeUndefined();
  });

  it.each<[readonly string[], string]>([
    [['--apend-karg', 'x'], '--append-karg'],
    [['--append-kargs=x'], '--append-karg'],
    [['--bogus'], 'options that coreos-installer install --help lists'],
    [['-z'], 'options that coreos-installer install --help lists'],
    [['-nz'], 'options that coreos-installer install --help lists'],
    [['--help'], 'options that coreos-installer install --help lists'],
    [['--append-karg'], '"--append-karg","VALUE"'],
    [['--append-karg', '--copy-network'], '"--append-karg","VALUE"'],
    [['--copy-network=yes'], '"--copy-network"'],
    [['/dev/sda'], 'options of coreos-installer install only; disk.device names the disk'],
    [['--'], 'options that coreos-installer install --help lists'],
    [['-'], 'options of coreos-installer install only; disk.device names the disk'],
    [['--toString', 'x'], 'options that coreos-installer install --help lists'],
  ])('refuses %j', (args, write) => {
    expect(mistakeInWriterArgs(args)?.write).toBe(write);
  });
});
