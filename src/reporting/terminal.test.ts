import { describe, expect, it } from 'vitest';
import type { RunEventBody } from '../engine/events.ts';
import { minutes, seconds, unlimited } from '../model/duration.ts';
import { progressed, started, waited, waiting } from '../../test/support/run-events.ts';
import { terminalLineOf, openTerminal } from './terminal.ts';

const step = 'layering/overwrite-os';
const wait = waiting(step, 'it is held back', { waited: seconds(5), limit: minutes(20) });

function lineOf() {
  const line = terminalLineOf();
  const show = (body: RunEventBody) => line({ ...body, at: 0, run: 'r' });
  show(started(step, undefined, { title: 'Write the system' }));
  return show;
}

describe('terminalLineOf', () => {
  it('shows the wait of a step until it ends', () => {
    const show = lineOf();
    expect(show(wait)).toBe(
      'Write the system  waits until it is so: it is held back, for 5 s of at most 20 min',
    );
    const forever = waiting(step, 'it is held back', { waited: seconds(6), limit: unlimited });
    expect(show(forever)).toBe('Write the system  waits until it is so: it is held back, for 6 s');
    expect(show(waited(step))).toBe('Write the system');
    expect(show(progressed(step, 'deploying x'))).toBe('Write the system  deploying x');
  });

  it('keeps the wait of another lane', () => {
    const show = lineOf();
    show(wait);
    show(started('cluster/wait-for-masters'));
    show(waiting('cluster/wait-for-masters', '0 of 2'));
    expect(show(waited(step))).toBeUndefined();
  });
});

describe('a terminal', () => {
  const open = () => {
    let text = '';
    const terminal = openTerminal({ columns: 10, write: (more) => (text += more) });
    return { terminal, text: () => text };
  };

  it('keeps the status below the lines', () => {
    const { terminal, text } = open();
    terminal.status('40%');
    terminal.line('step done');
    expect(text().endsWith('\r\u001b[Kstep done\n40%')).toBe(true);
  });

  it('leaves the last column empty, because the terminal would wrap', () => {
    const { terminal, text } = open();
    terminal.status('x'.repeat(40));
    expect(text()).toBe(`\r\u001b[K${'x'.repeat(9)}`);
  });

  it('assumes a default width when the terminal reports none', () => {
    let text = '';
    openTerminal({ columns: 0, write: (more) => (text += more) }).status('40%');
    expect(text.endsWith('40%')).toBe(true);
  });

  it('clears the status when it is closed', () => {
    const { terminal, text } = open();
    terminal.status('40%');
    terminal.close();
    terminal.line('failed');
    expect(text().endsWith('\r\u001b[K\r\u001b[Kfailed\n')).toBe(true);
  });
});
