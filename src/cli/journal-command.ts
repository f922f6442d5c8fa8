import { readFile } from 'node:fs/promises';
import type { Environment } from '../config/environment.ts';
import { parseJournal } from '../engine/journal.ts';
import { journalPathFor } from './early-report.ts';
import { cliFailure } from './failures.ts';
import { renderJournalJson, renderJournalText } from './journal.ts';
import { sourceConfig } from '../config/load.ts';

/** What `journal` is asked for. */
export interface JournalCall {
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly format: string;
}

/**
 * Shows what an earlier run did.
 * @throws AgentError `cli.journal-not-found` where no run left a journal that can be read
 */
export async function runJournal({ words, environment, format }: JournalCall): Promise<number> {
  const { config } = await sourceConfig(words, environment);
  const path = journalPathFor(config);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw cliFailure('cli.journal-not-found', `${path} cannot be read`, { cause });
  });
  const journal = parseJournal(text.split('\n'));
  if (journal === undefined) {
    throw cliFailure('cli.journal-not-found', `${path} does not begin as a journal does`);
  }
  process.stdout.write(format === 'json' ? renderJournalJson(journal) : renderJournalText(journal));
  return 0;
}
