import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { minutes, seconds } from '../../model/duration.ts';
import { followWriter, parseWriterLine } from './writer.ts';

const MiB = 1024 ** 2;

describe('parseWriterLine', () => {
  it.each([
    ['Read disk 45.5 MiB/113.7 MiB (40%)', 45.5 * MiB, 113.7 * MiB, 40],
    ['Read disk 1.0 GiB/2.0 GiB (50%)', 1024 * MiB, 2048 * MiB, 50],
    ['Read disk 100 B/4.4 KiB (2%)', 100, 4505.6, 2],
    ['> Read disk 100 B/400 B (25%)\r', 100, 400, 25],
    ['Read disk 45.512345678 MiB/113.7 MiB (40.02813%)', 45.512345678 * MiB, 113.7 * MiB, 40],
  ])('reads %s', (...[line, bytes, totalBytes, percent]) => {
    expect(parseWriterLine(line)).toEqual({
      bytes: Math.round(bytes),
      totalBytes: Math.round(totalBytes),
      percent,
    });
  });

  it('reads a line without a total without a percentage', () => {
    expect(parseWriterLine('Read disk 90.7 MiB')).toEqual({ bytes: Math.round(90.7 * MiB) });
  });

  it.each([
    'Reading signature from /a.sig',
    '(40%)',
    '',
    'Error: Read disk 90.7 MiB',
    'Read disk 90.7 MiB, then stopped',
  ])('ignores %j', (line) => {
    expect(parseWriterLine(line)).toBeUndefined();
  });
});

const read = (percent: number): string =>
  `Read disk ${percent * 10}.0 MiB/1000.0 MiB (${percent}%)`;

function following(start = 0) {
  let now = start;
  const writer = followWriter(() => now);
  return {
    writer,
    at: (time: number, line: string) => {
      now = start + time;
      return writer.take(line);
    },
  };
}

describe('followWriter', () => {
  it('reports the percentage, the speed and the remaining time', () => {
    const { at } = following(minutes(5));
    expect(at(0, 'Read disk 0 B/1000.0 MiB (0%)')).toEqual({ info: '0%', percent: 0 });
    expect(at(seconds(1), read(10))).toEqual({
      info: '10%',
      percent: 10,
      bytesPerSecond: 100 * 1024 ** 2,
      remaining: seconds(9),
    });
    expect(at(seconds(3), read(20))).toMatchObject({
      percent: 20,
      bytesPerSecond: Math.round((200 * 1024 ** 2) / 3),
    });
  });

  it('reports no remaining time while nothing is read', () => {
    const first = following().at(seconds(1), 'Read disk 0 B/1000.0 MiB (0%)');
    expect(first).toEqual({ info: '0%', percent: 0, bytesPerSecond: 0 });
  });

  it('calculates the speed from recent lines', () => {
    const { at } = following();
    for (let second = 1; second <= 20; second += 1) at(seconds(second), read(second));
    const slow = at(seconds(120), read(21));
    expect(slow?.bytesPerSecond).toBeLessThan(1024 ** 2);
  });

  it('reports a percentage once and ignores other lines', () => {
    const { at } = following();
    expect(at(seconds(1), read(100))).toMatchObject({ info: '100%' });
    expect(at(seconds(2), read(100))).toBeUndefined();
    expect(at(seconds(3), 'Writing Ignition config')).toBeUndefined();
  });

  it('reports the amount in large steps without a total', () => {
    const { at, writer } = following();
    expect(writer.phase()).toBe('0 MiB, stalled');
    const reports = [100, 400, 600, 900, 1200].map((amount, second) =>
      at(seconds(second + 1), `Read disk ${amount}.0 MiB`),
    );
    const infos = reports.map((report) => report?.info);
    expect(infos).toEqual(['', '', '512 MiB', '512 MiB', '1024 MiB']);
    expect(reports[2]).toEqual({ info: '512 MiB', bytesPerSecond: 200 * MiB });
    expect(writer.phase()).toBe('1200 MiB, stalled');
  });

  it('tells a stalled write from a flushing disk', () => {
    const { at, writer } = following();
    at(minutes(1), read(40));
    expect([writer.phase(), writer.isFlushing()]).toEqual(['40%, stalled', false]);
    at(minutes(12), read(100));
    expect([writer.phase(), writer.isFlushing()]).toEqual(['100%, flushing', true]);
    expect(writer.movedAt()).toBe(minutes(12));
  });

  it('keeps the last 200 lines, with their indentation', () => {
    const { writer } = following();
    for (let line = 1; line <= 250; line += 1)
      writer.take(`  ${line} of http://a:b@h.example/i \r`);
    const expected = Array.from({ length: 200 }, (_, at) => `  ${at + 51} of http://h.example/i`);
    expect(writer.lines()).toEqual(expected);
  });
});

describe('followWriter for a DASD that is formatted first', () => {
  const install = new URL('../../../mocks/logs/s390x/dasd-install.txt', import.meta.url);
  const lines = readFileSync(install, 'utf8').split(/[\r\n]+/);

  it('sees movement with each cylinder and reports formatting in steps', () => {
    const { at, writer } = following();
    const reports = lines.flatMap((line, index) => at(minutes(index), line) ?? []);
    const infos = reports.map(({ info }) => info);
    expect([...new Set(infos)]).toEqual([
      'formatting the disk: 0%',
      'formatting the disk: 20%',
      'formatting the disk: 45%',
      'formatting the disk: 95%',
      'formatting the disk: 100%',
      '1%',
      '100%',
    ]);
    const before = lines.findIndex((line) => line.startsWith('Finished'));
    const formatting = following();
    for (const [index, line] of lines.slice(0, before).entries()) {
      formatting.at(minutes(index), line);
      if (index > 0) expect(formatting.writer.movedAt()).toBe(minutes(index));
    }
    expect(writer.isFlushing()).toBe(true);
    expect(formatting.writer.phase()).toBe('formatting the disk: 100%, stalled');
  });

  it('sees no movement in a repeated cylinder', () => {
    const { at, writer } = following();
    at(minutes(1), 'cyl 600 of 30051 |##---|');
    expect(at(minutes(2), 'cyl 600 of 30051 |##---| 1% [37m 12s]')).toBeUndefined();
    expect(writer.movedAt()).toBe(minutes(1));
  });

  it('measures the speed of the write from the end of the format', () => {
    const { at, writer } = following();
    at(minutes(10), 'cyl 30051 of 30051 |#####|');
    const first = at(minutes(10) + seconds(1), read(10));
    expect(first).toMatchObject({ percent: 10, bytesPerSecond: 100 * MiB });
    expect(writer.phase()).toBe('10%, stalled');
  });

  it.each(['cyl 0 of 0 |', 'dasdfmt: cyl 600 of 30051 |'])('keeps %j as output', (line) => {
    const { at, writer } = following();
    expect(at(minutes(1), line)).toBeUndefined();
    expect([writer.lines(), writer.movedAt()]).toEqual([[line], 0]);
  });

  it('keeps no progress lines in the output', () => {
    const output = followWriter(() => 0);
    lines.forEach(output.take);
    expect(output.lines().filter((line) => line.startsWith('cyl'))).toEqual([]);
    expect(output.lines()).toContain('Re-IPL type: ccw');
  });
});

it.each([
  ['Read disk 1.0 MiB/113.7 MiB (0%)', true],
  ['Resetting partition table', true],
  ['Error: Resetting partition table', false],
  ['Error: Writing Ignition config', false],
  ['Error: Install complete', false],
  // coreos-installer before 0.10 prints this line.
  ['Error: checking for exclusive access to /dev/sda', false],
])('hasTouchedDisk after %s: %s', (line, expected) => {
  const output = followWriter(() => 0);
  output.take(line);
  expect(output.hasTouchedDisk()).toBe(expected);
});
