import { describe, expect, it } from 'vitest';
import { readWriterArgs } from './writer-args.ts';

describe('readWriterArgs', () => {
  it.each<[readonly string[]]>([
    [[]],
    [['--append-karg', 'ip=eth0:dhcp', '--delete-karg', 'quiet']],
    [['--append-karg=--x', '-n']],
    [['--copy-network', '--network-dir', '/etc/x']],
    [['-np', 'metal']],
    [['--save-partindex', '-7', '--save-partlabel', 'data*,x']],
    [['--append-karg', '']],
    [['--console', 'tty0', '--console=ttyAMA0', '--console', 'ttyS1,9600e']],
    [
      [
        '--fetch-retries',
        'infinite',
        '--fetch-retries=0',
        '--stream-base-url',
        'https://m.example/s/',
      ],
    ],
    [['--save-partindex', '05,1-,4294967295', '--save-partlabel', 'data,[!a]*,[ab]']],
  ])('accepts %j', (args) => {
    expect(readWriterArgs(args)).not.toHaveProperty('mistake');
  });

  it.each<[readonly string[]]>([
    [['--bogus']],
    [['--toString', 'x', '-n']],
    [['--append-kargs=x']],
    [['--verify=strict', '--offline']],
    [['-nz', 'x']],
  ])('accepts %j, which coreos-installer may know', (args) => {
    expect(readWriterArgs(args)).not.toHaveProperty('mistake');
  });

  it.each<[readonly string[], string]>([
    [['--append-karg', 'ip=dhcp\n'], 'each argument in one line'],
    [['--bogus=a\0'], 'each argument in one line'],
    [['--bogus', 'x', 'y'], 'options of coreos-installer install only; disk.device names the disk'],
    [['--save-partuuid', 'x'], 'options that coreos-installer install --help lists'],
    [['--sve-partlabel', 'x'], 'options that coreos-installer install --help lists'],
    [['--save-prtlabel=x'], 'options that coreos-installer install --help lists'],
    [['-h'], 'options that coreos-installer install --help lists'],
    [['--help'], 'options that coreos-installer install --help lists'],
    [['--append-karg'], '"--append-karg","VALUE"'],
    [['--append-karg', '--copy-network'], '"--append-karg","VALUE"'],
    [['--copy-network=yes'], '"--copy-network"'],
    [['/dev/sda'], 'options of coreos-installer install only; disk.device names the disk'],
    [['--'], 'options that coreos-installer install --help lists'],
    [['--save-partlabel data'], '"--save-partlabel","VALUE"'],
    [['--append-karg ip=eth0:dhcp'], '"--append-karg","VALUE"'],
    [['-n', '--save-partindex\t5-'], '"--save-partindex","VALUE"'],
    [['--bogus data'], '"--bogus","VALUE"'],
    [['--copy-network '], '"--copy-network"'],
    [['-p qemu'], '"-p","VALUE"'],
    [['-np qemu'], '"-np","VALUE"'],
    [['-z 5'], '"-z","VALUE"'],
    [[' --offline'], 'options of coreos-installer install only; disk.device names the disk'],
    [['-I', 'http://i'], 'ignition.url'],
    [['--image-file', '/a', '-u', 'http://b'], 'one of them'],
    ...['ttyS0 ', 'ttyX', 'tty1', '/dev/tty0', 'console=tty0', 'ttyS0,115200n9', ''].map(
      (value): [readonly string[], string] => [
        ['--console', value],
        'tty0, hvc0, ttysclp0, or a serial console, ttyS0,115200n8 for example',
      ],
    ),
    [['-n', '--fetch-retries=many'], 'infinite, or a number from 0'],
    [['--stream-base-url', 'mirror.example.com/s'], 'https://HOST/PATH/'],
    ...['[a', 'a**', '[!]', '[]', 'data,[b]*['].map((value): [readonly string[], string] => [
      ['--save-partlabel', value],
      'labels with *, ? and [a-z]: data*,logs',
    ]),
    ...['0', '-', '', '5,', '5-4', '1 2', '1-2-3', '4294967296', 'data'].map(
      (value): [readonly string[], string] => [
        [`--save-partindex=${value}`],
        'numbers from 1, or ranges: 5,6-8',
      ],
    ),
    [['-'], 'options of coreos-installer install only; disk.device names the disk'],
  ])('refuses %j', (args, write) => {
    expect(readWriterArgs(args).mistake?.write).toBe(write);
  });
});

it.each<[readonly string[], readonly (readonly [string, string])[]]>([
  [
    ['--append-karg', 'a b', '--append-karg=c=d'],
    [
      ['append-karg', 'a b'],
      ['append-karg', 'c=d'],
    ],
  ],
  [
    ['-nc', '/w.yaml'],
    [
      ['copy-network', ''],
      ['config-file', '/w.yaml'],
    ],
  ],
  [
    ['-c/w.yaml', '-f=/i'],
    [
      ['config-file', '/w.yaml'],
      ['image-file', '/i'],
    ],
  ],
  [
    ['-ni', '/i', '--bogus', 'x', '--offline'],
    [
      ['copy-network', ''],
      ['ignition-file', '/i'],
      ['offline', ''],
    ],
  ],
])('readWriterArgs returns the options in %j', (args, uses) => {
  expect(readWriterArgs(args).uses.map(({ option, value }) => [option, value])).toEqual(uses);
});
