import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import type { HostPhase } from '../cluster/cluster-state.ts';
import type { Plan } from '../../src/engine/describe.ts';
import type { MockServer } from '../http/mock-server.ts';
import type { LayeredSite, NodeSystem } from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import { ladderOf, percentOf } from '../inventory/ladders.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { LabHost } from './lab-host.ts';
import { systemName } from './report.ts';
import type { HostSpec } from './scenario.ts';

/** How a chunk of text is shown. */
export type Tone = 'plain' | 'dim' | 'strong' | 'good' | 'bad' | 'busy';

/** A chunk of a line. */
interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** One line of the table. */
export type Line = readonly Span[];

/** What the table shows of one host. */
export interface Row {
  readonly host: string;
  readonly role: string;
  readonly stage: string;
  /** 0 to 100. */
  readonly percent: number;
  readonly doing: string;
  readonly seconds: number;
  readonly tone: Tone;
}

/** What the table shows of a run. */
export interface Table {
  readonly title: string;
  readonly cluster: string;
  readonly seconds: number;
  readonly rows: readonly Row[];
  /** What goes on beside the hosts, in a line of its own. */
  readonly beside?: string | undefined;
}

const BAR_CELLS = 20;
const STAGE_CELLS = 22;
const span = (text: string, tone: Tone = 'plain'): Span => ({ text, tone });

/** What is looked at of a host, be it simulated or a virtual machine. */
export interface ShownHost
  extends
    Pick<LabHost, 'hostId' | 'progress' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt'>,
    Pick<LabHost, 'events'>,
    Partial<Pick<LabHost, 'struck'>> {
  readonly plan: Pick<HostSpec, 'name' | 'role'>;
}

/** What is looked at of a run while it goes on. */
export interface ShownRun {
  readonly name: string;
  readonly lab: {
    readonly inventory: { readonly store: InventoryStore } & Partial<Pick<MockServer, 'faults'>>;
    readonly objects?: Pick<MockServer, 'faults'>;
    readonly cluster?:
      | (Pick<RunningCluster, 'state'> & Partial<Pick<RunningCluster, 'client' | 'struck'>>)
      | undefined;
    readonly layered?:
      | ({ readonly systems: ReadonlyMap<string, Pick<NodeSystem, 'image'>> } & Partial<
          Pick<LayeredSite, 'network'>
        >)
      | undefined;
  };
  /** The plan of a host that is known better than by its role alone. */
  readonly planOf?: ((host: string) => Promise<Plan>) | undefined;
  readonly hosts: readonly ShownHost[];
  /** What goes on beside the hosts. */
  readonly beside?: (() => string) | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Looks at a run as it is now. */
export function tableOf({ name, lab, hosts, beside, startedAt }: ShownRun, now: number): Table {
  const { cluster } = lab.inventory.store;
  return {
    title: name,
    cluster: cluster().status,
    seconds: (now - startedAt) / 1000,
    rows: hosts.map((host) => rowOf(host, { lab, startedAt, now })),
    beside: beside?.(),
  };
}

interface Moment extends Pick<ShownRun, 'lab' | 'startedAt'> {
  readonly now: number;
}

function rowOf(host: ShownHost, { lab, startedAt, now }: Moment): Row {
  const { plan, progress, outcome, boots } = host;
  const record = lab.inventory.store.host(host.hostId);
  const stage = record?.stage ?? '';
  const isSingleNode = lab.inventory.store.cluster().controlPlaneCount === 1;
  const isBootstrap = plan.role === 'bootstrap';
  const ladder = ladderOf({ role: plan.role, isBootstrap, isSingleNode, api: 'v2' });
  const below = stage === '' ? 0 : percentOf(ladder, stage);
  const part = ((progress.percent ?? 0) / 100) * (100 / ladder.length);
  return {
    host: plan.name,
    role: plan.role,
    stage: record?.status === 'error' ? 'Failed' : stage,
    percent: Math.min(100, Math.floor(below + (boots === 0 ? part : 0))),
    doing: [
      doingOf(host, lab.cluster?.state().phases[plan.name]),
      ...runs(lab.layered?.systems.get(plan.name)),
    ].join('; '),
    seconds: ((host.endedAt ?? now) - startedAt) / 1000,
    tone: toneOf(outcome, progress.waitingFor),
  };
}

/** Which operating system a host has booted, where that is simulated. */
const runs = (system: Pick<NodeSystem, 'image'> | undefined): readonly string[] =>
  system === undefined ? [] : [`runs ${systemName(system.image)}`];

/** What a host is at after its agent has left it; undefined while its live system runs. */
export function phaseOf(
  { boots, phase, hostId, plan }: ShownHost,
  { inventory, cluster }: ShownRun['lab'],
): string | undefined {
  if (boots === 0) return undefined;
  const inCluster = cluster?.state().phases[plan.name];
  if (inCluster !== undefined) return phaseWords[inCluster];
  const stage = inventory.store.host(hostId)?.stage ?? '';
  return ['', 'Rebooting'].includes(stage) ? phase : stage;
}

function doingOf(
  { outcome, failure, progress, boots, phase }: ShownHost,
  inCluster: HostPhase | undefined,
): string {
  if (outcome === 'done') return 'is a node';
  if (outcome !== undefined)
    return failure === undefined ? outcome : `${failure.code}: ${failure.message}`;
  if (boots > 0) return inCluster === undefined ? phase : phaseWords[inCluster];
  const { doing, percent, waitingFor } = progress;
  if (doing === '') return phase;
  if (percent === undefined) return waitingFor ?? doing;
  // One lane writes the disk while the other one waits.
  const written = `${doing}: ${Math.floor(percent)} %`;
  return waitingFor === undefined ? written : `${written}; ${waitingFor}`;
}

/** What a host is at after its reboot, for people. */
const phaseWords: Readonly<Record<HostPhase, string>> = {
  live: 'starts from its disk',
  booting: 'starts from its disk',
  waiting: 'waits for a machine-config-server',
  configuring: 'applies its Ignition',
  unapproved: 'its kubelet waits for a certificate',
  joining: 'its node is not Ready yet',
  ready: 'its node is Ready',
};

function toneOf(outcome: LabHost['outcome'], waitingFor: string | undefined): Tone {
  if (outcome === 'done') return 'good';
  if (outcome !== undefined) return 'bad';
  return waitingFor === undefined ? 'plain' : 'busy';
}

/** Renders a table in a width of cells. */
export function renderTable(table: Table, width: number): readonly Line[] {
  const names = Math.max(4, ...table.rows.map(({ host }) => host.length));
  const head = [
    pad('host', names),
    pad('role', 8),
    pad('stage', STAGE_CELLS),
    pad('', BAR_CELLS + 7),
    pad('', 6),
  ].join(' ');
  return [
    [
      span(table.title, 'strong'),
      span(`   cluster ${table.cluster}   ${table.seconds.toFixed(0)} s`, 'dim'),
    ],
    [span(head.trimEnd(), 'dim')],
    ...table.rows.map((row) => renderRow(row, { names, width })),
    ...(table.beside === undefined ? [] : [[span(cliTruncate(table.beside, width), 'dim')]]),
  ];
}

function renderRow(
  row: Row,
  { names, width }: { readonly names: number; readonly width: number },
): Line {
  const filled = Math.round((row.percent / 100) * BAR_CELLS);
  const rest = Math.max(10, width - (names + 8 + STAGE_CELLS + BAR_CELLS + 7 + 6 + 6));
  return [
    span(`${pad(row.host, names)} `, 'strong'),
    span(`${pad(row.role, 8)} `, 'dim'),
    span(`${pad(row.stage, STAGE_CELLS)} `, row.tone),
    span('█'.repeat(filled), row.tone === 'plain' ? 'busy' : row.tone),
    span('░'.repeat(BAR_CELLS - filled), 'dim'),
    span(` ${String(row.percent).padStart(3)} % `),
    span(`${row.seconds.toFixed(0).padStart(4)} s  `, 'dim'),
    span(cliTruncate(row.doing.replaceAll(/\s+/g, ' '), rest), row.tone),
  ];
}

function pad(text: string, cells: number): string {
  const cut = cliTruncate(text, cells);
  return cut + ' '.repeat(cells - stringWidth(cut));
}

const CELL = { width: 8, height: 20 };
const MARGIN = 16;

const fills: Readonly<Record<Tone, string>> = {
  plain: '#d0d7de',
  dim: '#8b949e',
  strong: '#f0f6fc',
  good: '#3fb950',
  bad: '#f85149',
  busy: '#58a6ff',
};

/** Draws lines of the table as a picture of a dark terminal. */
export function renderSvg(lines: readonly Line[]): string {
  const columns = Math.max(
    ...lines.map((line) => line.reduce((sum, { text }) => sum + text.length, 0)),
  );
  const width = columns * CELL.width + 2 * MARGIN;
  const height = lines.length * CELL.height + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    ...lines.flatMap((line, index) => renderLine(line, MARGIN + index * CELL.height)),
    '</svg>',
    '',
  ].join('\n');
}

function renderLine(line: Line, top: number): readonly string[] {
  let column = 0;
  return line.flatMap((span) => {
    const left = MARGIN + column * CELL.width;
    column += span.text.length;
    return span.text.trim() === '' ? [] : [renderSpan(span, left, top)];
  });
}

function renderSpan({ text, tone }: Span, left: number, top: number): string {
  const width = text.length * CELL.width;
  // Block letters leave gaps in most fonts, so that bars are drawn.
  if (/^[█░]+$/.test(text)) {
    const opacity = text.startsWith('░') ? ' opacity="0.25"' : '';
    return `<rect x="${left}" y="${top + 5}" width="${width}" height="11" fill="${fills[tone]}"${opacity}/>`;
  }
  const weight = tone === 'strong' ? ' font-weight="bold"' : '';
  const indent = (text.length - text.trimStart().length) * CELL.width;
  const shown = text.trim();
  const length = shown.length * CELL.width;
  return `<text x="${left + indent}" y="${top + 15}" fill="${fills[tone]}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escaped(shown)}</text>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
