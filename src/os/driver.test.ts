import { describe, expect, it } from 'vitest';
import { bootEntryArguments, changedArguments, isChanged } from './driver.ts';

const root = 'ostree=/ostree/boot.0/rhcos/ab/0';
const commandLine = `BOOT_IMAGE=(hd0,gpt3)/x ${root} rw ignition.platform.id=metal`;
const entries = [
  'title Old\noptions rw old=1 ostree=/ostree/boot.0/rhcos/ab/1',
  `title New\noptions root=LABEL=root rw $ignition_firstboot ${root} quiet\ninitrd /x`,
];

describe('kernel arguments', () => {
  it('are those of the entry that was booted', () => {
    expect(bootEntryArguments(entries, commandLine)).toEqual([
      ...['root=LABEL=root', 'rw', '$ignition_firstboot', 'quiet'],
    ]);
  });

  it.each([['rw'], ['ostree=/other'], ['ostree=/ostree/boot.0/rhcos/ab']])(
    'are not known without an entry: %s',
    (line) => {
      expect(bootEntryArguments(entries, line)).toBeUndefined();
    },
  );

  it.each([
    [['a', 'b'], { append: ['c'], remove: ['a'] }, ['b', 'c']],
    [['a'], { append: ['a'], remove: [] }, ['a']],
    [['a=1', 'a=2'], { append: ['a=3'], remove: ['a=1'] }, ['a=2', 'a=3']],
  ])('%j changed by %j are %j', (present, change, expected) => {
    expect(changedArguments(present, change)).toEqual(expected);
    expect(isChanged(expected, change)).toBe(true);
  });
});
