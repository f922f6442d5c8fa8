import { describe, expect, it } from 'vitest';
import {
  areInForce,
  changedArguments,
  isApplied,
  readBootEntry,
  readImageArguments,
  splitArguments,
} from './kernel-arguments.ts';
import { recorded } from '../../test/support/os-samples.ts';
import { changeKargs, grubLine } from '../../mocks/host/kernel-arguments.ts';

/** Reads a list that is written with commas. */
const list = (text: string): readonly string[] => (text === '' ? [] : text.split(', '));

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

  it.each([
    ['', ''],
    [' a  b\tc=1\n', 'a, b, c=1'],
    ['dyndbg="file drivers/usb/* +p" quiet', 'dyndbg="file drivers/usb/* +p", quiet'],
    ['"dyndbg=file drivers/usb/* +p" a=', '"dyndbg=file drivers/usb/* +p", a='],
    ['n="all"x"y z" b', 'n="all"x"y z", b'],
    ['a="never ends b', 'a="never ends b'],
  ])('in %j are split at blanks outside of quotes', (text, expected) => {
    expect(splitArguments(text)).toEqual(list(expected));
  });

  it.each([
    ['p, a, q, b', 'a, b', true],
    ['b, a', 'a, b', false],
    ['a, b', 'a, b, a', false],
    ['a, b, a', 'a, b, a', true],
    ['a', 'a=', false],
    ['a=1', 'a', false],
    ['n=all', 'n="all"', true],
    ['"d=file x +p"', 'd="file x +p"', true],
    ['', '', true],
  ])('%s contain %s: %s', (present, wanted, expected) => {
    expect(areInForce(list(present), list(wanted))).toBe(expected);
  });

  it.each([
    ['a, b', 'a', 'c', 'b, c'],
    ['a, p', 'a', 'a', 'p, a'],
    ['a=1, a=2', 'a=1', 'a=3', 'a=2, a=3'],
    ['x, p, x', 'x', '', 'p, x'],
    ['x, p, x', 'x', 'a', 'p, a', 'everywhere'],
    ['a, a', 'a, a', 'a', 'a'],
    ['a, p', 'a', 'a', 'a, p', 'everywhere'],
    ['b, p', 'a, b', 'a, b', 'p, a, b', 'everywhere'],
    ['b, a, b', 'a, b', 'b, a', 'b, b, a'],
  ])('%s without %s and with %s become %s', (...[before, removed, appended, after, where]) => {
    const present = list(before);
    const everywhere = where === 'everywhere';
    const change = { append: list(appended), remove: list(removed), everywhere };
    const { gone, all } = changedArguments(present, change);
    expect(all).toEqual(list(after));
    const words = gone.map((one) => `--delete-if-present=${one}`);
    const append = all === present ? [] : change.append.map((one) => `--append=${one}`);
    expect(changeKargs(present, [...words, ...append])).toEqual({ list: list(after) });
    // An `x` of another source remains, so the change does not count as made.
    if (!change.remove.includes('x') || everywhere) expect(isApplied(all, change)).toBe(true);
  });

  it.each([
    ['n="all"', 'n="all"', 'n=all'],
    // The command line of the kernel has no quotes.
    ['n=all', 'n="all"', ''],
    ['n=all, a', 'n="all"', 'a'],
    ['b, a, b', 'a, b', 'b, a'],
    ['a, a', 'a, a', 'a'],
    ['hugepagesz=2M, hugepages=16', 'hugepagesz=2M', 'hugepagesz=1G'],
  ])('%s have not yet changed from %s to %s', (present, remove, append) => {
    const change = { append: list(append), remove: list(remove) };
    expect(isApplied(list(present), change)).toBe(false);
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
