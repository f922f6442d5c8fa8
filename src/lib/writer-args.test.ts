import { describe, expect, it } from 'vitest';
import { readWriterArgs } from './writer-args.ts';

describe('readWriterArgs', () => {
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
    expect(readWriterArgs(args)).toEqual({ unknown: [] });
  });

  it.each<[readonly string[], readonly string[]]>([
    [['--bogus'], ['--bogus']],
    [['--toString', 'x', '-n'], ['--toString']],
    [['--verify=strict', '--offline'], ['--verify']],
    [
      ['--save-partuuid', 'x', '-n', '-z'],
      ['--save-partuuid', '-z'],
    ],
    [['-nz', 'x'], ['-z']],
  ])('lets %j pass, with %j unknown', (args, unknown) => {
    expect(readWriterArgs(args)).toEqual({ unknown });
  });

  it.each<[readonly string[], string]>([
    [['--bogus', 'x', 'y'], 'options of coreos-installer install only; disk.device names the disk'],
    [['-h'], 'options that coreos-installer install --help lists'],
    [['--apend-karg', 'x'], '--append-karg'],
    [['--append-kargs=x'], '--append-karg'],
    [['--help'], 'options that coreos-installer install --help lists'],
    [['--append-karg'], '"--append-karg","VALUE"'],
    [['--append-karg', '--copy-network'], '"--append-karg","VALUE"'],
    [['--copy-network=yes'], '"--copy-network"'],
    [['/dev/sda'], 'options of coreos-installer install only; disk.device names the disk'],
    [['--'], 'options that coreos-installer install --help lists'],
    [['-'], 'options of coreos-installer install only; disk.device names the disk'],
  ])('refuses %j', (args, write) => {
    expect(readWriterArgs(args).mistake?.write).toBe(write);
  });
});
