import { describe, expect, it } from 'vitest';
import { asksHelp } from './asks-help.ts';

describe('asksHelp', () => {
  it.each([
    '-h',
    '--h',
    '--help',
    '-help',
    '--help=true',
    '-h=1',
    '-r worker -h',
    '--bogus -h',
    '--verbose --help',
    '--role=worker -h',
    '--boot-device -h -h',
  ])('is so for "%s"', (line) => {
    expect(asksHelp(line.split(' '))).toBe(true);
  });

  it.each([
    '',
    '-r worker',
    '--help=false',
    '-h=x',
    '--boot-device -h',
    '-- -h',
    'word -h',
    '---h',
  ])('is not so for "%s"', (line) => {
    expect(asksHelp(line.split(' '))).toBe(false);
  });
});
