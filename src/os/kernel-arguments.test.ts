import { describe, expect, it } from 'vitest';
import {
  areInForce,
  changedArguments,
  isChanged,
  readBootEntry,
  readImageArguments,
  splitArguments,
} from './kernel-arguments.ts';
import { recorded } from '../../test/support/os-samples.ts';
import { changeKargs, grubLine } from '../../mocks/host/kernel-arguments.ts';

describe('kernel arguments', () => {
  it('are read from a boot loader entry, with those that bootc keeps by source', () => {
    const entry = recorded('bootc-1.16.9/entry-booted2-1.conf');
    const boot = '/ostree/boot.0/default';
    const checksum = '1e898fe594a5ae8bc360cb325ef0ed9839340541cc2b7430e7a58c7e72484741';
    expect(readBootEntry(entry)).toEqual({
      link: `${boot}/${checksum}/0`,
      kernelArguments: ['root=LABEL=root', 'rw', 'console=ttyS0', 'net.ifnames=0', 'lab.kargsd=1'],
      sources: new Map(),
    });
    const tracked = `${entry}\nx-options-source-tuned nohz=full isolcpus=1-3\nx-options-source-a \n`;
    expect([...(readBootEntry(tracked)?.sources ?? [])]).toEqual([
      ['tuned', ['nohz=full', 'isolcpus=1-3']],
      ['a', []],
    ]);
    expect(readBootEntry('title Other\noptions rw quiet')).toBeUndefined();
  });

  it.each<[string, readonly string[]]>([
    ['', []],
    [' a  b\tc=1\n', ['a', 'b', 'c=1']],
    ['dyndbg="file drivers/usb/* +p" quiet', ['dyndbg="file drivers/usb/* +p"', 'quiet']],
    ['"dyndbg=file drivers/usb/* +p" a=', ['"dyndbg=file drivers/usb/* +p"', 'a=']],
    ['n="all"x"y z" b', ['n="all"x"y z"', 'b']],
    ['a="never ends b', ['a="never ends b']],
  ])('in %j are split at blanks outside of quotes', (text, expected) => {
    expect(splitArguments(text)).toEqual(expected);
  });

  it.each<[readonly string[], readonly string[], boolean]>([
    [['p', 'a', 'q', 'b'], ['a', 'b'], true],
    [['b', 'a'], ['a', 'b'], false],
    [['a', 'b'], ['a', 'b', 'a'], false],
    [['a', 'b', 'a'], ['a', 'b', 'a'], true],
    [['a'], ['a='], false],
    [['a=1'], ['a'], false],
    [['n=all'], ['n="all"'], true],
    [['"d=file x +p"'], ['d="file x +p"'], true],
    [[], [], true],
  ])('%j contain %j: %s', (present, wanted, expected) => {
    expect(areInForce(present, wanted)).toBe(expected);
  });

  it.each<[string[], { append: string[]; remove: string[]; everywhere?: boolean }, string[]]>([
    [['a', 'b'], { append: ['c'], remove: ['a'] }, ['b', 'c']],
    [['a', 'p'], { append: ['a'], remove: ['a'] }, ['p', 'a']],
    [['a=1', 'a=2'], { append: ['a=3'], remove: ['a=1'] }, ['a=2', 'a=3']],
    [['x', 'p', 'x'], { append: [], remove: ['x'] }, ['p', 'x']],
    [['x', 'p', 'x'], { append: ['a'], remove: ['x'], everywhere: true }, ['p', 'a']],
    [['a', 'a'], { append: ['a'], remove: ['a', 'a'] }, ['a']],
    [['a', 'p'], { append: ['a'], remove: ['a'], everywhere: true }, ['a', 'p']],
    [['b', 'p'], { append: ['a', 'b'], remove: ['a', 'b'], everywhere: true }, ['p', 'a', 'b']],
    [['b', 'a', 'b'], { append: ['b', 'a'], remove: ['a', 'b'] }, ['b', 'b', 'a']],
  ])('%j changed by %j become %j', (present, change, expected) => {
    const { gone, all } = changedArguments(present, change);
    expect(all).toEqual(expected);
    const words = [...gone.map((one) => `--delete-if-present=${one}`)];
    const append = all === present ? [] : change.append.map((one) => `--append=${one}`);
    expect(changeKargs(present, [...words, ...append])).toEqual({ list: expected });
    // An `x` of another source remains, so the change does not count as made.
    if (!change.remove.includes('x') || change.everywhere === true)
      expect(isChanged(expected, change)).toBe(true);
  });

  it.each<[string[], string[], string[]]>([
    [['n="all"'], ['n="all"'], ['n=all']],
    [
      ['b', 'a', 'b'],
      ['a', 'b'],
      ['b', 'a'],
    ],
    [['a', 'a'], ['a', 'a'], ['a']],
    [['hugepagesz=2M', 'hugepages=16'], ['hugepagesz=2M'], ['hugepagesz=1G']],
  ])('%j have not yet changed from %j to %j', (present, remove, append) => {
    expect(isChanged(present, { append, remove })).toBe(false);
  });

  it('are in force after GRUB has moved their quotes', () => {
    const given = ['n="all"', 'd="file x/* +p"', 'a=', 'console=tty0', 'console=tty0'];
    const line = grubLine(given);
    expect(line).toBe('n=all "d=file x/* +p" a= console=tty0 console=tty0');
    expect(areInForce(splitArguments(line), given)).toBe(true);
  });
});

describe('readImageArguments', () => {
  it.each([
    ['for every host', 'kargs = ["nosmt", "console=ttyS0,115200n8"]', 'x86_64', 2],
    ['split at blanks', 'kargs = ["a b"]', 'x86_64', 2],
    ['for this architecture', 'kargs = ["a"]\nmatch-architectures = ["x86_64"]', 'x86_64', 1],
    ['for another architecture', 'kargs = ["a"]\nmatch-architectures = ["aarch64"]', 'x86_64', 0],
    [
      'for an architecture under its Rust name',
      'kargs = ["a"]\nmatch-architectures = ["powerpc64"]',
      'ppc64le',
      1,
    ],
    ['for no architecture', 'kargs = ["a"]\nmatch-architectures = []', 'x86_64', 0],
  ])('reads arguments %s', (_, text, architecture, count) => {
    expect(readImageArguments(text, architecture)).toHaveLength(count);
  });

  it.each([
    ['invalid TOML', 'kargs = [nosmt]'],
    ['a section', '[kargs]\nkargs = ["a"]'],
    ['another key', 'kargs = []\ndelete = ["a"]'],
    ['a string instead of a list', 'kargs = "a b"'],
    ['an empty file', ''],
  ])('refuses %s, as bootc does', (_, text) => {
    expect(() => readImageArguments(text, 'x86_64')).toThrow();
  });
});
