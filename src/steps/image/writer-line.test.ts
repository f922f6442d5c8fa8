import { describe, expect, it } from 'vitest';
import { parseWriterLine } from './writer-line.ts';

const MiB = 1024 ** 2;

describe('a progress line of the writer', () => {
  it.each([
    ['Read disk 45.5 MiB/113.7 MiB (40%)', 45.5 * MiB, 113.7 * MiB, 40],
    ['> Read disk 45.5 MiB/113.7 MiB (40%)   ', 45.5 * MiB, 113.7 * MiB, 40],
    ['Read disk 1.0 GiB/2.0 GiB (50%)', 1024 * MiB, 2048 * MiB, 50],
    ['Read disk 512.0 KiB/1.0 MiB (50%)', MiB / 2, MiB, 50],
    ['Read disk 100 B/4.4 KiB (2%)', 100, 4505.6, 2],
    ['Read disk 45.512345678 MiB/113.7 MiB (40.02813%)', 45.512345678 * MiB, 113.7 * MiB, 40],
    ['Read metal 4.4 KiB/4.4 KiB (100%)', 4505.6, 4505.6, 100],
  ])('%s', (...[line, bytes, totalBytes, percent]) => {
    expect(parseWriterLine(line)).toEqual({
      bytes: Math.round(bytes),
      totalBytes: Math.round(totalBytes),
      percent,
    });
  });

  it('without a total has no percentage', () => {
    expect(parseWriterLine('Read disk 90.7 MiB')).toEqual({ bytes: Math.round(90.7 * MiB) });
  });

  it.each([
    'Reading signature from /a.sig',
    'Install complete.',
    "Couldn't read signature file: opening /a.sig",
    '(40%)',
    '',
  ])('is not %j', (line) => {
    expect(parseWriterLine(line)).toBeUndefined();
  });
});
