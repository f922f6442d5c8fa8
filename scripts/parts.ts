import { existsSync } from 'node:fs';

import { allParts } from './parts/all.ts';
import { partFolder } from './parts/cache.ts';
import { ensurePart } from './parts/ensure.ts';
import { type Part, PartError } from './parts/part.ts';

const usage = `usage: node scripts/parts.ts NAME...       get or build parts, and what they need
       node scripts/parts.ts --list        every part, whether it is here, what it costs
       node scripts/parts.ts --path NAME   where a part is, or will be
`;

/** Gets, lists and finds the real parts that tests run against; see docs/real-parts.md. */
async function main(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined || first === '--help') process.stdout.write(usage);
  else if (first === '--list') process.stdout.write(allParts.map(listLine).join(''));
  else if (first === '--path') process.stdout.write(rest.map(placeLine).join(''));
  else await ensureNamed(args);
}

async function ensureNamed(names: readonly string[]): Promise<void> {
  for (const part of names.map(findPart)) await ensurePart(part);
}

function listLine(part: Part): string {
  const state = isHere(part) ? 'here' : 'absent';
  return `${part.name.padEnd(18)} ${state.padEnd(7)} ${part.purpose} (${part.cost})\n`;
}

function isHere(part: Part): boolean {
  return part.kind === 'cached' ? existsSync(partFolder(part)) : part.isReady();
}

function placeLine(name: string): string {
  const part = findPart(name);
  return `${part.kind === 'cached' ? partFolder(part) : part.where()}\n`;
}

function findPart(name: string): Part {
  const part = allParts.find((candidate) => candidate.name === name);
  if (part === undefined)
    throw new PartError(`part ${name}: there is none of that name; see --list`);
  return part;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof PartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
