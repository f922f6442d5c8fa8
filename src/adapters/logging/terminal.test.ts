import { describe, expect, it } from 'vitest';
import { openTerminal } from './terminal.ts';

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
