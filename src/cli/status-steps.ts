import { readJournalFile } from '../adapters/journal.ts';
import { journalPath } from '../config/complete.ts';
import type { Config } from '../config/schema.ts';
import { type JournalEntry, type JournalHeader, parseJournal } from '../engine/journal.ts';
import { plainLine } from '../lib/plain-text.ts';
import { renderDuration } from '../model/duration.ts';
import { stepsInJournal } from '../engine/run-steps.ts';
import { cliFailure } from './failures.ts';
import { jsonText, print } from './messages.ts';

/**
 * Prints each step of the last run on this host from its journal. An installed system that is
 * mounted at `host.root` has the journal too.
 * @throws AgentError `cli.journal-not-found` if there is no readable journal
 */
export async function printSteps(config: Config, isJson: boolean): Promise<void> {
  const path = journalPath;
  const text = await readJournalFile(config.host.root, path).catch((cause: unknown) => {
    throw cliFailure('cli.journal-not-found', `${path} cannot be read`, { cause });
  });
  if (text === undefined) throw cliFailure('cli.journal-not-found', `${path} is not there`);
  const journal = parseJournal(text.split('\n'));
  if (journal === undefined) {
    throw cliFailure('cli.journal-not-found', `${path} is not a journal`);
  }
  print(isJson ? renderJournalJson(journal) : renderJournalText(journal));
}

/** A journal as it was read. */
type ReadJournal = NonNullable<ReturnType<typeof parseJournal>>;

/** Steps of a journal, the ended ones with their duration in milliseconds. */
const journalledSteps = (entries: readonly JournalEntry[]) =>
  Object.values(stepsInJournal(entries)).map(({ step, state, attempt, since, until, failure }) => ({
    step,
    state,
    attempts: attempt,
    since,
    ...(until === undefined ? {} : { duration: Math.max(0, until - since) }),
    ...(failure === undefined ? {} : { failure: plainLine(`${failure.code}: ${failure.message}`) }),
  }));

type JournalledStep = ReturnType<typeof journalledSteps>[number];

/** A journal for people: one line for each step. */
export function renderJournalText({ header, entries }: ReadJournal): string {
  const steps = journalledSteps(entries);
  const width = Math.max(0, ...steps.map(({ step }) => step.length));
  return [headerLine(header), ...steps.map((step) => stepLine(step, width)), '']
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A journal for programs. */
export function renderJournalJson({ header, entries }: ReadJournal): string {
  const { role, version, fingerprint, bootId } = header;
  const steps = journalledSteps(entries);
  return jsonText({ v: 1, role, version, fingerprint, bootId, steps });
}

const headerLine = ({ role, version, bootId, fingerprint }: JournalHeader): string =>
  `${role}, bootwright ${version}, boot ${bootId}, configuration ${fingerprint.slice(0, 12)}`;

const marks: Partial<Record<JournalledStep['state'], string>> = {
  running: '…',
  finished: '✓',
  failed: '✗',
  stopped: '·',
};

function stepLine(step: JournalledStep, width: number): string {
  const facts = [
    step.state === 'running' ? 'did not finish' : step.state,
    ...(step.duration === undefined ? [] : [renderDuration(step.duration)]),
    ...(step.attempts > 1 ? [`started ${step.attempts} times`] : []),
    ...(step.failure === undefined ? [] : [step.failure]),
  ];
  const at = new Date(step.since).toISOString();
  return `${marks[step.state] ?? ''} ${at}  ${step.step.padEnd(width)}  ${facts.join(', ')}`;
}
