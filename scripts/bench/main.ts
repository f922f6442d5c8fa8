import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureBundle } from '../bundle.ts';
import { pageOf, sections } from '../docs/markdown.ts';
import { measureBootstrapMemory } from './bootstrap.ts';
import { measureCapi } from './capi.ts';
import { measureController } from './controller.ts';
import { type Figure, type Findings, isWithin, renderTable, valueOf } from './figure.ts';
import { measureNodeController } from './node-controller.ts';
import { measureStartUp } from './start-up.ts';

const groups: Readonly<Record<string, () => Promise<Findings>>> = {
  'start-up': measureStartUp,
  'bootstrap-memory': measureBootstrapMemory,
  controller: measureController,
  'node-controller': measureNodeController,
  capi: measureCapi,
};

/** Measures the groups that are named, or all, and writes JSON to standard output. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !Object.hasOwn(groups, name));
  if (unknown !== undefined) {
    process.stderr.write(`no group ${unknown}; there are: ${Object.keys(groups).join(', ')}\n`);
    return 2;
  }
  await ensureBundle((text) => process.stderr.write(text));
  const figures: Figure[] = [];
  const texts: string[] = [];
  for (const [name, measure] of Object.entries(groups)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const { rows, section } = await measure();
    const command = `npm run bench -- ${name}`;
    for (const [figure, unit, measured, bound, baseline] of rows)
      figures.push({ name: figure, unit, measured, baseline, bound, command });
    if (section !== '') texts.push(section.trimEnd());
  }
  const withValues = figures.map((figure) => ({
    ...figure,
    value: valueOf(figure),
    isWithin: isWithin(figure),
  }));
  process.stdout.write(`${JSON.stringify(withValues, null, 2)}\n`);
  const findings = sections([renderTable(figures), ...texts]);
  process.stderr.write(`${findings}\n`);
  if (names.length === 0) {
    const path = resolve(import.meta.dirname, '../../docs/performance.md');
    writeFileSync(path, pageOf('performance', { findings }));
  }
  return figures.every(isWithin) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
