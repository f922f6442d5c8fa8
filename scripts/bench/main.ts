import { ensureBundle } from '../bundle.ts';
import { measureBootstrapMemory } from './bootstrap.ts';
import { measureCapi } from './capi.ts';
import { measureController } from './controller.ts';
import { type Figure, isWithin, valueOf } from './process.ts';
import { measureNodeController } from './node-controller.ts';
import { measureStartUp } from './start-up.ts';

const groups: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  'start-up': measureStartUp,
  'bootstrap-memory': measureBootstrapMemory,
  controller: measureController,
  'node-controller': measureNodeController,
  capi: measureCapi,
};

/** Measures the groups that are named, or all, and prints their figures. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !Object.hasOwn(groups, name));
  if (unknown !== undefined) {
    process.stderr.write(`no group ${unknown}; there are: ${Object.keys(groups).join(', ')}\n`);
    return 2;
  }
  await ensureBundle((text) => process.stderr.write(text));
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(groups))
    if (names.length === 0 || names.includes(name)) figures.push(...(await measure()));
  console.table(
    figures.map((figure) => {
      const [name, unit, measured, bound, baseline] = figure;
      const against = baseline && `${baseline.name}: ${baseline.measured}`;
      const [value, isKept] = [valueOf(figure), isWithin(figure)];
      return { name, unit, measured, baseline: against, value, bound, isKept };
    }),
  );
  return figures.every(isWithin) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
