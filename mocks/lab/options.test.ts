import { describe, expect, it } from 'vitest';
import { readOptions } from './options.ts';

describe('the options of the lab', () => {
  it.each([
    [[], undefined],
    [['--firmware', 'bios'], undefined],
    [['--vm'], 'uefi'],
    [['--vm', '--firmware', 'bios'], 'bios'],
  ])('%j install a virtual machine by %s', (args, vm) => {
    expect(readOptions(args).vm).toBe(vm);
  });

  it.each([[['--vm', '--firmware', 'coreboot']], [['--guest']]])('%j are refused', (args) => {
    expect(() => readOptions(args)).toThrow(TypeError);
  });
});
