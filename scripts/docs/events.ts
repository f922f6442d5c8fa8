import * as z from 'zod';
import type { RunEvent } from '../../src/engine/events.ts';
import { exitCodes, type FailureKind } from '../../src/model/failure.ts';
import { stages } from '../../src/model/stage.ts';
import { codeCell, pageOf, table } from './markdown.ts';

type EventType = RunEvent['type'];

const span = z.number().describe('milliseconds');
const words = z.array(z.string());
const stage = z.enum(stages);
const flat = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const failure = z.strictObject({
  code: z.string().describe('of errors.md'),
  kind: z.enum(Object.keys(exitCodes) as FailureKind[]),
  message: z.string(),
  hint: z.string(),
  context: flat,
});
const progress = z.strictObject({
  info: z.string().describe('what the inventory service shows'),
  percent: z.number().optional().describe('0 to 100; left out while an attempt is behind the last'),
  bytesPerSecond: z.number().optional(),
  remaining: span.optional(),
});
const ofStep = {
  step: z.string().describe('area/verb-noun'),
  lane: z.string().optional().describe('of steps that run beside others'),
};
const shownStage = { stage: stage.optional(), stageInfo: z.string().optional() };
const argv = { argv: words.describe('secrets masked') };

/** What each event is for, and its fields beside `v`, `type`, `at` and `run`. */
const events = {
  'run.started': [
    'A run begins, or continues with the journal of an earlier one.',
    { role: z.string(), version: z.string(), isResumed: z.boolean(), steps: z.int() },
  ],
  'run.finished': [
    'The last event of a run that did all it had to.',
    { outcome: z.enum(['finished', 'left the host']), duration: span },
  ],
  'run.failed': ['The last event of a run that failed.', { failure, duration: span }],
  'run.stopped': [
    'The last event of a run that a signal ended.',
    { reason: z.string(), duration: span },
  ],
  'lanes.started': [
    'Steps run beside each other from here on.',
    {
      staged: z
        .array(z.strictObject({ lane: z.string(), first: stage, ahead: z.string().optional() }))
        .describe('lanes with a stage, and their first'),
    },
  ],
  'lane.finished': ['The steps of a lane have ended.', { lane: z.string() }],
  'step.started': [
    'A step begins; with a higher attempt, again.',
    { ...ofStep, title: z.string(), attempt: z.int(), ...shownStage },
  ],
  'step.progress': [
    'How far a step is; of one step at most five in a second, and no percentage below one before.',
    { ...ofStep, progress },
  ],
  'step.alive': [
    'A step works and has nothing new to say.',
    { ...ofStep, doing: z.string().optional() },
  ],
  'step.finished': ['A step has done its work.', { ...ofStep, duration: span }],
  'step.retrying': [
    'An attempt failed, and there will be another.',
    { ...ofStep, failure, attempt: z.int(), attempts: z.int() },
  ],
  'step.failed': ['A step failed for good.', { ...ofStep, failure }],
  'step.stopped': ['A step was stopped because of another failure or a signal.', ofStep],
  'step.skipped': [
    'The configuration or an earlier fact leaves a step out.',
    { ...ofStep, reason: z.string() },
  ],
  'step.reused': [
    'An earlier run finished the step; it is not run again.',
    { ...ofStep, title: z.string(), ...shownStage },
  ],
  'wait.updated': [
    'A wait continues; what is missing has changed.',
    {
      ...ofStep,
      sentence: z.string().describe('what must become true'),
      status: z.string().describe('what is missing'),
      waited: span,
      limit: span,
    },
  ],
  'wait.finished': [
    'What a wait was for is there, or its time is over.',
    { ...ofStep, sentence: z.string(), isReached: z.boolean(), waited: span },
  ],
  note: [
    'Something worth a line of the log.',
    { ...ofStep, level: z.enum(['debug', 'info', 'warn']), message: z.string(), fields: flat },
  ],
  'command.started': ['A command on the host begins.', argv],
  'command.finished': [
    'A command on the host has ended.',
    { ...argv, exitCode: z.int().optional().describe('none after a signal'), duration: span },
  ],
  'report.sent': ['The service has taken a stage.', { stage, info: z.string() }],
  'report.dropped': ['The service did not take a stage.', { stage, info: z.string(), failure }],
} as const satisfies Readonly<Record<EventType, readonly [about: string, z.ZodRawShape]>>;

const common = {
  v: z.literal(1).describe('version of this form'),
  at: z.number().describe('milliseconds since 1970'),
  run: z.string().describe('id of the run; a resumed run has a new one'),
};

const schemas = Object.fromEntries(
  Object.entries(events).map(([type, [, fields]]) => [
    type,
    z.strictObject({ ...common, type: z.literal(type), ...(fields as z.ZodRawShape) }),
  ]),
);

/** One line of the event stream, as this version writes it. */
export const StreamedEvent = z.union(Object.values(schemas));

/** The page of all events. */
export const eventsPage = (): string =>
  pageOf('events', {
    common: fieldList(common),
    events: table(
      ['Event', 'Meaning', 'Fields'],
      Object.entries(events).map(([type, [about, fields]]) => [
        codeCell(type),
        about,
        fieldList(fields),
      ]),
    ),
  });

/** Fields that the text above the table explains. */
const plain: ReadonlySet<string> = new Set(['step', 'lane', 'duration', 'waited', 'limit']);

/** `name` with its meaning; a field that may be missing has a question mark. */
const fieldList = (fields: z.ZodRawShape): string =>
  Object.entries(fields)
    .map(([name, schema]) => {
      const field = schema as z.ZodType;
      if (plain.has(name)) return codeCell(name);
      const mark = field.safeParse(undefined).success ? '?' : '';
      const about =
        field.description ?? (field as { unwrap?: () => z.ZodType }).unwrap?.().description;
      return `${codeCell(`${name}${mark}`)}${about === undefined ? '' : ` (${about})`}`;
    })
    .join(', ');
