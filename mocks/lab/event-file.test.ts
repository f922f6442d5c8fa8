import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followEvents } from './event-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-events-'));
  file = join(folder, 'events.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What is told of a file by its end. */
function told(write: () => void): readonly unknown[] {
  const events: unknown[] = [];
  const follower = followEvents(file, (event) => events.push(event));
  write();
  follower.end();
  return events;
}

describe('a file of events', () => {
  it('tells of each whole line, in order', () => {
    const write = (): void => {
      writeFileSync(file, '{"a":1}\n{"a"');
      appendFileSync(file, ':2}\n');
    };
    expect(told(write)).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('tells of lines that are longer than what is read at once, letters of several bytes whole', () => {
    const long = 'ä'.repeat(200_001);
    const lines = [long, 'b', long].map((a) => `${JSON.stringify({ a })}\n`);
    expect(told(() => writeFileSync(file, lines.join('')))).toEqual([
      { a: long },
      { a: 'b' },
      { a: long },
    ]);
  });

  it.each([
    ['that is not there', () => undefined, []],
    ['whose last line is torn', () => writeFileSync(file, '{"a":1}\n{"a":'), [{ a: 1 }]],
    ['with a line that is none', () => writeFileSync(file, '{"a"\n{"a":1}\n'), [{ a: 1 }]],
  ])('%s is no error', (_, write, expected) => {
    expect(told(write)).toEqual(expected);
  });
});
