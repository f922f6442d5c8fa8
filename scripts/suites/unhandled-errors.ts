import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** Where the reporter below writes, for the process that started vitest. */
export const unhandledErrorsFile = 'UNHANDLED_ERRORS_FILE';

/** Reporter of the errors that belong to no test: they fail a run, and vitest's JSON report has none of them. */
export default class UnhandledErrors implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (_files, errors) => {
    const file = process.env[unhandledErrorsFile];
    const texts = errors.map(({ stack, message, VITEST_TEST_PATH: path }) => {
      const where = typeof path === 'string' ? `beside ${path}: ` : '';
      return `${where}${(stack ?? message).split('\n', 6).join('\n')}`;
    });
    if (file !== undefined) writeFileSync(file, JSON.stringify(texts));
  };
}
