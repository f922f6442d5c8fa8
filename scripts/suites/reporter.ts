import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';
import { outcomeOf } from './outcome.ts';

/** Where the reporter below writes, for the process that started vitest. */
export const outcomeFile = 'TEST_OUTCOME_FILE';

/** Reporter of the outcome of a run, as JSON. */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (files, errors) => {
    const file = process.env[outcomeFile];
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcomeOf(files, errors)));
  };
}
