import { describe, expect, it } from 'vitest';
import { type Line, renderSvg, renderTable, type Row, type Table } from './table.ts';

const row: Row = {
  host: 'm1',
  role: 'master',
  stage: 'Copying registry data to disk',
  percent: 50,
  doing: 'Copy the registry',
  seconds: 12.4,
  tone: 'plain',
};
const table: Table = { title: 'lab', cluster: 'installing', seconds: 20, rows: [row] };
const text = (line: Line | undefined): string => (line ?? []).map((span) => span.text).join('');

describe('the table of the lab', () => {
  it('begins with the name of the run and how the cluster is', () => {
    expect(text(renderTable(table, 100)[0])).toBe('lab   cluster installing   20 s');
  });

  it('has a line for each host, no wider than asked for', () => {
    const long = { ...row, doing: 'x'.repeat(300) };
    const [, , line] = renderTable({ ...table, rows: [long] }, 100);
    expect(text(line).length).toBeLessThanOrEqual(100);
    expect(text(line)).toContain('█'.repeat(10) + '░'.repeat(10));
  });

  it('ends with what goes on beside the hosts, no wider than asked for', () => {
    const lines = renderTable({ ...table, beside: `building ${'x'.repeat(300)}` }, 100);
    expect([lines.length, text(lines[3]).length]).toEqual([4, 100]);
    expect(renderTable(table, 100)).toHaveLength(3);
  });

  it('cuts what does not fit its column', () => {
    expect(text(renderTable(table, 120)[2])).toContain('Copying registry data…');
  });
});

describe('the picture of the table', () => {
  it('escapes what would be markup', () => {
    const svg = renderSvg([[{ text: 'a < b & c', tone: 'plain' }]]);
    expect(svg).toContain('>a &lt; b &amp; c</text>');
  });

  it('draws bars as areas', () => {
    const svg = renderSvg([
      [
        { text: '███', tone: 'busy' },
        { text: '░░', tone: 'dim' },
      ],
    ]);
    expect(svg).toContain('<rect x="16" y="21" width="24"');
    expect(svg).toContain('<rect x="40" y="21" width="16"');
  });
});
