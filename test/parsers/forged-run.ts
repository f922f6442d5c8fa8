// Gives one reader forged input, and prints what went wrong as JSON: node forged-run.ts READER. Run
// by itself, so that its memory is that of the reader.
import { readerTable } from './forged-readers.ts';
import { forged } from './forge.ts';
import { AgentError } from '../../src/model/failure.ts';

const inputs = 120;
/**
 * Time of the processor: two seconds for any input, and as much for each 100 KB. What grows faster
 * than its text takes far more, and a busy processor twice what an idle one does.
 */
const allowedMillis = (bytes: number): number => 2000 + bytes / 50;

const [name = ''] = process.argv.slice(2);
const reader = readerTable[name];
if (reader === undefined) throw new RangeError(`no reader ${name}`);
const violations: string[] = [];
for (let seed = 0; seed < inputs; seed += 1) {
  const input = forged(reader.right[seed % reader.right.length]!, seed);
  const before = process.cpuUsage();
  try {
    await reader.read(reader.wrap?.(input) ?? input);
  } catch (thrown) {
    const isMeant = thrown instanceof AgentError && thrown.code !== 'run.unexpected';
    if (!isMeant && reader.throwsErrors !== true)
      violations.push(
        `${seed}: ${(thrown instanceof Error ? thrown.stack : String(thrown)) ?? ''}`,
      );
    if (thrown instanceof Error && /call stack|heap|Invalid string length/.test(thrown.message))
      violations.push(`${seed}: ${thrown.message}`);
  }
  const { user, system } = process.cpuUsage(before);
  const millis = (user + system) / 1000;
  if (millis > allowedMillis(input.length))
    violations.push(`${seed}: ${Math.round(millis)} ms for ${input.length} bytes`);
}
const mebibytes = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(JSON.stringify({ violations: violations.slice(0, 5), mebibytes }));
