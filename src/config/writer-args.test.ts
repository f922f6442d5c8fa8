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
    [['--bogus'], 'options that coreos-installer install --help names'],
    [['-z'], 'options that coreos-installer install --help names'],
    [['-nz'], 'options that coreos-installer install --help names'],
    [['--help'], 'options that coreos-installer install --help names'],
    [['--append-karg'], '"--append-karg","VALUE"'],
    [['--append-karg', '--copy-network'], '"--append-karg","VALUE"'],
    [['--copy-network=yes'], '"--copy-network"'],
    [['/dev/sda'], 'options of coreos-installer install only; the disk is another setting'],
    [['--'], 'options that coreos-installer install --help names'],
    [['-'], 'options of coreos-installer install only; the disk is another setting'],
    [['--toString', 'x'], 'options that coreos-installer install --help names'],
  ])('refuses %j', (args, write) => {
    expect(mistakeInWriterArgs(args)?.write).toBe(write);
  });
});
