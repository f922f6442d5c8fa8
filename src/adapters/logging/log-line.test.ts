import { describe, expect, it } from 'vitest';
import type { RunEvent, RunEventBody } from '../../engine/events.ts';
import { hours, minutes, seconds, unlimited } from '../../model/duration.ts';
import { lineOf, renderPretty } from './log-line.ts';

const failure = {
  code: 'disk.busy',
  kind: 'host',
  message: 'install disk is busy',
  hint: 'free it',
  context: { holder: 'md127', attempts: 2 },
} as const;

const event = (body: RunEventBody): RunEvent => ({ ...body, at: 1000, run: 'r1' });

describe('lineOf', () => {
  it.each<[RunEventBody, string, string]>([
    [{ type: 'run.failed', failure, duration: 5 }, 'error', 'run failed'],
    [{ type: 'step.failed', step: 'a/b', failure }, 'warn', 'step failed'],
    [{ type: 'step.skipped', step: 'a/b', reason: 'x' }, 'debug', 'step left out'],
    [{ type: 'note', step: 'a/b', level: 'warn', message: 'odd', fields: {} }, 'warn', 'odd'],
    [{ type: 'command.started', argv: ['a'] }, 'debug', 'command started'],
  ])('logs %o as %s: %s', (body, level, message) => {
    expect(lineOf(event(body))).toMatchObject({ at: 1000, level, message });
  });

  it.each([
    [hours(24) - seconds(4), '24 h'],
    [hours(2) + minutes(10), '2 h 10 min'],
    [unlimited, undefined],
  ])('logs a wait with the limit %d as %s', (limit, text) => {
    const wait = { step: 'a/b', sentence: 's', status: 'x', waited: 1, limit };
    expect(lineOf(event({ type: 'wait.updated', ...wait })).fields['limit']).toBe(text);
  });

  it('adds the fields of a note to its step', () => {
    const note = {
      type: 'note',
      step: 'a/b',
      level: 'info',
      message: 'm',
      fields: { n: 1 },
    } as const;
    expect(lineOf(event(note)).fields).toEqual({ run: 'r1', step: 'a/b', n: 1 });
  });
});

describe('renderPretty', () => {
  it.each<[string, RunEventBody, string]>([
    [
      'a step',
      { type: 'step.started', step: 'image/write', title: 'Write the image', attempt: 1 },
      'info  image/write: step started title="Write the image" attempt=1',
    ],
    [
      'a command',
      { type: 'command.finished', argv: ['dd', 'of=x y'], exitCode: 0, duration: 61_000 },
      'debug command finished argv="dd of=x y" exitCode=0 duration="1 min 1 s"',
    ],
    [
      'a failure',
      { type: 'step.failed', step: 'disk/check', failure },
      'warn  disk/check: step failed failure.code=disk.busy failure.kind=host ' +
        'failure.message="install disk is busy" failure.hint="free it" ' +
        'failure.context.holder=md127 failure.context.attempts=2',
    ],
  ])('renders %s', (_, body, text) => {
    expect(renderPretty(lineOf(event(body)))).toBe(`1970-01-01T00:00:01.000Z ${text}`);
  });

  it('renders a field with a line break on one line', () => {
    const note = { type: 'note', step: 'a/b', level: 'info', message: 'm' } as const;
    const text = renderPretty(lineOf(event({ ...note, fields: { out: 'one\ntwo' } })));
    expect(text.split('\n')).toHaveLength(1);
  });
});
