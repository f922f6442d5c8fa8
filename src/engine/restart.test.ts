import { describe, expect, it } from 'vitest';
import { doing, findDisk, limit, step, toy, wipe } from '../../test/support/toy-role.ts';
import { condition } from './condition.ts';
import { type JournalHeader, type JournalRecord, renderRecord } from './journal.ts';
import { decideRestart, type Restart } from './resume.ts';
import { lanes } from './role.ts';

const once = step({
  id: 'disk/sign',
  title: 'Sign the disk',
  uses: ['world'],
  limit,
  run: () => Promise.resolve(),
});
const ifCleaned = {
  ...doing('disk/rest'),
  when: condition<{ readonly cleans: boolean }>(
    'the disk is to be cleaned',
    ({ cleans }) => cleans,
  ),
};

const threeLines = toy({
  steps: [findDisk, wipe, lanes({ a: [once], b: [doing('image/sign')] }), doing('host/reboot')],
});
const header: JournalHeader = {
  type: 'header',
  v: 1,
  role: 'toy',
  version: '1',
  fingerprint: 'f',
  bootId: 'b',
};

const began = (id: string): JournalRecord => ({ type: 'started', step: id, at: 1 });
const ended = (id: string): JournalRecord => ({ type: 'finished', step: id, at: 2, fact: null });

const restart = (records: readonly JournalRecord[], now: Partial<JournalHeader> = {}): Restart =>
  decideRestart({ lines: records.map(renderRecord), header: { ...header, ...now } }, threeLines, {
    cleans: true,
  });

describe('decideRestart', () => {
  it.each<[string, readonly JournalRecord[], number, readonly string[]]>([
    ['with the first step', [header], 0, ['disk/find']],
    [
      'with the first step again when nothing is lost yet',
      [header, ended('disk/find')],
      0,
      ['disk/find'],
    ],
    [
      'with the step that began to destroy',
      [header, ended('disk/find'), began('disk/wipe')],
      1,
      ['disk/wipe'],
    ],
    [
      'after the last finished step',
      [header, ended('disk/find'), ended('disk/wipe')],
      2,
      ['disk/sign'],
    ],
    [
      'with a step of each lane',
      [header, ended('disk/find'), ended('disk/wipe'), began('disk/sign'), began('image/sign')],
      2,
      ['disk/sign', 'image/sign'],
    ],
    [
      'with no step when all have finished',
      [header, ...['disk/find', 'disk/wipe', 'disk/sign', 'image/sign', 'host/reboot'].map(ended)],
      5,
      [],
    ],
  ])('continues %s', (...[, records, reused, next]) => {
    const found = restart(records);
    expect(found).toMatchObject({ kind: 'resume', reused, next: next.map((id) => ({ id })) });
    expect(found.kind === 'resume' && found.next.length).toBe(next.length);
  });

  it('continues with a step that began, even if the current settings would skip it', () => {
    const lines = [header, ended('disk/wipe'), began('disk/rest')].map(renderRecord);
    const role = toy({ steps: [wipe, ifCleaned, doing('host/reboot')] });
    expect(decideRestart({ lines, header }, role, { cleans: false })).toMatchObject({
      reused: 1,
      next: [{ id: 'disk/rest' }],
    });
  });
});
