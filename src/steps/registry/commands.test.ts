import { expect, it } from 'vitest';
import { neededBytes, parseMeasured } from './commands.ts';

it.each([
  ['21474836480\t/mnt/agentdata', 21_474_836_480],
  ['21474836480', 21_474_836_480],
  ['0\t/mnt/agentdata', 0],
  ['', undefined],
  ['du: cannot access', undefined],
])('reads the size in %j', (stdout, bytes) => {
  expect(parseMeasured(stdout)).toBe(bytes);
});

it('asks for two and a half times the size, in whole bytes', () => {
  expect(neededBytes(3)).toBe(7);
});
