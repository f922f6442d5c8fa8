// Renders events as lines of the log: a constant message, which can be searched for, and the data
// in fields. error: a person must act; warn: degraded, but continuing; info: steps and decisions.
import type { RunEvent } from '../../engine/events.ts';
import { isFields } from '../../lib/fields.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { renderDuration, unlimited } from '../../model/duration.ts';

/** Levels of the log. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One line of the log before rendering. */
export interface LogLine {
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

type EventOf<Type> = Extract<RunEvent, { readonly type: Type }>;

type Heads = {
  readonly [Type in RunEvent['type']]: readonly [
    level: LogLevel | ((event: EventOf<Type>) => LogLevel),
    message: string | ((event: EventOf<Type>) => string),
  ];
};

const heads: Heads = {
  'run.started': ['info', 'run started'],
  'run.finished': ['info', 'run finished'],
  'run.failed': ['error', 'run failed'],
  'run.stopped': ['warn', 'run stopped'],
  'lanes.started': ['debug', 'lanes started'],
  'lane.finished': ['debug', 'lane finished'],
  'step.started': ['info', 'step started'],
  'step.progress': ['debug', 'step in progress'],
  'step.alive': ['debug', 'step is at work'],
  'step.finished': ['info', 'step finished'],
  'step.retrying': ['warn', 'step is tried again'],
  // If the run ends with it, its error follows; other steps may fail without harm.
  'step.failed': ['warn', 'step failed'],
  'step.stopped': ['info', 'step stopped'],
  'step.skipped': ['debug', 'step left out'],
  'step.reused': ['info', 'step was done by an earlier run'],
  'wait.updated': ['info', 'waiting'],
  'wait.finished': ['info', 'wait ended'],
  note: [({ level }) => level, ({ message }) => message],
  'command.started': ['debug', 'command started'],
  'command.finished': ['debug', 'command finished'],
  'report.sent': ['info', 'stage reported'],
  'report.dropped': ['warn', 'stage not reported'],
};

/** An event as a line of the log. */
export function lineOf<Event extends RunEvent>(event: Event): LogLine {
  const [level, message] = heads[event.type] as unknown as readonly [
    LogLevel | ((of: Event) => LogLevel),
    string | ((of: Event) => string),
  ];
  return {
    at: event.at,
    level: typeof level === 'string' ? level : level(event),
    message: typeof message === 'string' ? message : message(event),
    fields: fieldsOf(event),
  };
}

function fieldsOf(event: RunEvent): Readonly<Record<string, unknown>> {
  if (event.type !== 'note') return withUnits(without(event, ['at', 'type']));
  const { step, lane, fields, run } = event;
  return withUnits({ run, step, ...(lane === undefined ? {} : { lane }), ...fields });
}

const spans: ReadonlySet<string> = new Set([
  'duration',
  'waited',
  'limit',
  'elapsed',
  'delay',
  'remaining',
]);

/** Renders durations with a unit, and numbers without a fraction; leaves out what is no limit. */
const withUnits = (fields: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      if (isFields(value)) return [name, withUnits(value)];
      if (typeof value !== 'number') return [name, value];
      if (name === 'limit' && value >= unlimited) return [name, undefined];
      return [name, spans.has(name) ? renderDuration(value) : Math.round(value)];
    }),
  );

const without = (fields: object, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** A line for people: `2026-01-02T03:04:05.678Z info  image/write: step started title="…"`. */
export function renderPretty({ at, level, message, fields }: LogLine): string {
  const { step } = fields;
  const who = typeof step === 'string' ? `${step}: ` : '';
  const data = flat(without(fields, ['run', 'step']))
    .map(([name, value]) => ` ${name}=${word(value)}`)
    .join('');
  return `${new Date(at).toISOString()} ${level.padEnd(5)} ${who}${plainLine(message)}${data}`;
}

/** Flattens nested fields to dotted names; an argv stays one value. */
function flat(fields: object, prefix = ''): readonly (readonly [string, unknown])[] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    return isFields(value)
      ? flat(value, `${prefix}${name}.`)
      : [[`${prefix}${name}`, value] as const];
  });
}

function word(value: unknown): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  return /^[\w./:@%+-]+$/.test(text) ? text : JSON.stringify(text);
}
