import { globSync } from 'node:fs';
import { join } from 'node:path';
import { ensureParts } from './parts/ensure.ts';
import { endedBy, isHere, type Part, PartError, placeOf } from './parts/part.ts';

const usage = `usage: node scripts/parts.ts NAME...       download or build parts, and what they need
       node scripts/parts.ts --list        every part, whether it is here, what it costs
       node scripts/parts.ts --path NAME   where a part is, or will be
`;

/** Every part: what a file of `parts` exports under whatever name, by itself or in a list. */
async function readParts(): Promise<readonly Part[]> {
  const folder = join(import.meta.dirname, 'parts');
  const files = globSync('**/*.ts', { cwd: folder, exclude: ['**/*.test.ts'] }).sort();
  const modules = files.map((file) => import(join(folder, file)) as Promise<object>);
  return (await Promise.all(modules)).flatMap(Object.values).flat().filter(isPart);
}

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && 'purpose' in value && 'pin' in value;

const allParts = await readParts();

/** Gets, lists and finds the real parts that tests run against; see docs/real-parts.md. */
async function main(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined || first === '--help') process.stdout.write(usage);
  else if (first === '--list') process.stdout.write(allParts.map(listLine).join(''));
  else if (first === '--path')
    process.stdout.write(rest.map((name) => `${placeOf(findPart(name))}\n`).join(''));
  else await ensureParts(args.map(findPart));
}

function listLine(part: Part): string {
  const state = isHere(part) ? 'here' : 'absent';
  return `${part.name.padEnd(18)} ${state.padEnd(7)} ${part.purpose} (${part.cost})\n`;
}

function findPart(name: string): Part {
  const part = allParts.find((candidate) => candidate.name === name);
  if (part === undefined) throw new PartError(`unknown part: ${name}; see --list`);
  return part;
}

await endedBy(main(process.argv.slice(2)), PartError);
