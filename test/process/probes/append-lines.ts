// Appends lines to a journal and prints the result of each, also of a failed one.
import { fileJournal } from '../../../src/adapters/journal.ts';
import { AgentError } from '../../../src/model/failure.ts';

const [path = '', ...lines] = process.argv.slice(2);
const journal = fileJournal(path);
const ends: string[] = [];
for (const line of lines) {
  ends.push(
    await journal.append(line, { flush: true }).then(
      () => 'kept',
      (error: unknown) => (error instanceof AgentError ? error.code : String(error)),
    ),
  );
}
process.stdout.write(JSON.stringify(ends));
