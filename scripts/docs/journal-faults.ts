import { journalFaults, journalRows } from '../../test/contract/faults/journal.ts';
import { table } from './markdown.ts';

const outcomes = {
  ends: 'the run ends with `journal.not-kept`',
  warns: 'the run ends as it would, with a warning',
  continues: 'the run continues until the next line that it needs',
} as const;

/** The section about every write of the journal. */
export const journalSection = (): readonly string[] => [
  '## Writes of the journal',
  '',
  'What becomes of a run that cannot write a line of its journal, or that ends while it does. The tests let the disk',
  'fail at each line of each role. A failure and a warning name the file, and what the system said.',
  '',
  'A process that ends before or within a line leaves what the last column says: half a line is not read. The run',
  'that comes next in the same boot continues from there; the crash tests hold what it leaves against a run without.',
  '',
  ...table(['Fault', 'What happens'], Object.entries(journalFaults)),
  '',
  ...table(
    ['Line', 'Full disk or read-only', 'Done by then', 'The next run'],
    journalRows.map(({ means, outcome, done, next }) => [means, outcomes[outcome], done, next]),
  ),
  '',
];
