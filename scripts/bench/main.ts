import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureBundle } from '../../mocks/lab/bundle.ts';
import { type Figure, isWithin, renderTable, valueOf } from './figure.ts';
import { measureStartUp } from './start-up.ts';
import { measureWaiting } from './waiting.ts';
import { measureWrites } from './write.ts';

const groups: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  'start-up': measureStartUp,
  write: measureWrites,
  waiting: measureWaiting,
};

const page = (figures: readonly Figure[]): string => `# Performance

Written by \`npm run bench\`. Each figure with a baseline is a ratio to what was measured in the same run on the
same machine; the others are absolute. The writer is the lab's stand-in for coreos-installer, which prints a line
per second as the real one does and writes nothing, so that what is measured is the agent's own share.

${renderTable(figures)}`;

/** Measures the groups that are named, or all, and writes JSON to standard output. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !Object.hasOwn(groups, name));
  if (unknown !== undefined) {
    process.stderr.write(`no group ${unknown}; there are: ${Object.keys(groups).join(', ')}\n`);
    return 2;
  }
  await ensureBundle((text) => process.stderr.write(text));
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(groups)) {
    if (names.length === 0 || names.includes(name)) figures.push(...(await measure()));
  }
  const withValues = figures.map((figure) => ({
    ...figure,
    value: valueOf(figure),
    isWithin: isWithin(figure),
  }));
  process.stdout.write(`${JSON.stringify(withValues, null, 2)}\n`);
  process.stderr.write(renderTable(figures));
  if (names.length === 0) {
    writeFileSync(resolve(import.meta.dirname, '../../docs/performance.md'), page(figures));
  }
  return figures.every(isWithin) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
