import { describe, expect, it } from 'vitest';
import stringWidth from 'string-width';
import { clusterSeed, hostSeed } from '../inventory/records.ts';
import { inventoryStore } from '../inventory/store.ts';
import { type HostProgress, noProgress } from './host-progress.ts';
import { type ShownHost, tableOf } from './shown-run.ts';
import { type Line, renderTable, type Row, type Table } from './table.ts';

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

const lineAt = (width: number, changes: Partial<Row> = {}): string =>
  text(renderTable({ ...table, rows: [{ ...row, ...changes }] }, width)[2]);

describe('the table of the lab', () => {
  it('begins with the name of the run and how the cluster is', () => {
    expect(text(renderTable(table, 100)[0])).toBe('lab   cluster installing   20 s');
  });

  const long = 'x'.repeat(300);
  const wide = { ...row, host: 'bootstrap-0.example.test', doing: long, seconds: 5400 };
  const widths = [40, 60, 79, 80, 99, 100, 116, 160];
  it.each(widths)('has no line wider than %i columns', (width) => {
    const full = { ...table, title: long, beside: long, rows: [{ ...wide, left: 5_400_000 }, row] };
    const shown = renderTable(full, width).map(text);
    expect(shown).toHaveLength(5);
    for (const line of shown) expect(stringWidth(line)).toBeLessThanOrEqual(width);
  });

  it('has a line for each host, with what there is room for', () => {
    const left = 65_000;
    expect(lineAt(60, { left })).toBe('m1   Copying registr…  50 % 1 min 5 s Copy the registry');
    expect(lineAt(80, { left })).toBe(
      'm1   master Copying registr…  50 %   12 s 1 min 5 s Copy the registry',
    );
    const bar = '█'.repeat(10) + '░'.repeat(10);
    expect(lineAt(160, { left })).toBe(
      `m1   master Copying registry data… ${bar}  50 %   12 s 1 min 5 s Copy the registry`,
    );
  });

  it('ends between the words of what a host does', () => {
    expect(lineAt(60, { doing: 'Copy the registry of the release' })).toMatch(
      /%\s+Copy the registry of …$/,
    );
    expect(lineAt(60, { doing: 'x'.repeat(80) })).toMatch(/ x+…$/);
  });

  it('ends with what continues beside the hosts', () => {
    const lines = renderTable({ ...table, beside: 'building the image' }, 100);
    expect([lines.length, text(lines[3])]).toEqual([4, 'building the image']);
    expect(renderTable(table, 100)).toHaveLength(3);
  });
});

describe('a row of the table', () => {
  const ids = { infraEnvId: 'i', clusterId: 'c', hostname: 'm1' };
  const store = inventoryStore({
    cluster: clusterSeed({ controlPlaneCount: 3 }),
    hosts: [hostSeed({ id: 'h', role: 'master', stage: 'Writing image to disk', ...ids })],
  });
  const host = (progress: Partial<HostProgress>): ShownHost => ({
    ...{ hostId: 'h', phase: '', outcome: undefined, failure: undefined, boots: 0 },
    ...{ endedAt: undefined, events: [] },
    plan: { name: 'm1', role: 'master' },
    progress: { ...noProgress, doing: 'Write', ...progress },
  });
  const rowAt = (shown: ShownHost): Row | undefined =>
    tableOf({ name: 'n', lab: { inventory: { store } }, hosts: [shown], startedAt: 0 }, 0).rows[0];

  it('says what the agent does, how far it is and how long that takes', () => {
    const shown = host({ percent: 50, remaining: 9000 });
    expect(rowAt(shown)).toMatchObject({ doing: 'Write: 50 %', left: 9000, percent: 43 });
  });

  it('never falls, although another agent begins again', () => {
    const shown: { -readonly [Key in keyof ShownHost]: ShownHost[Key] } = host({ percent: 50 });
    const before = rowAt(shown)?.percent;
    shown.progress = { ...noProgress, doing: 'Write' };
    expect(rowAt(shown)).toMatchObject({ percent: before, doing: 'Write' });
  });
});
