// What must be true of a pool in the end whose image could not be built, and whose cluster is to build it later.
import { stockImage } from '../../layering/plan.ts';
import { annotation, imageOf } from './objects.ts';
import type { JudgedPool } from './oracle.ts';

/** What is wrong with a pool that fell back to the system of the release, a sentence for each. */
export function violationsOfStock(pool: JudgedPool): readonly string[] {
  const { nodes, osConfig, jobs } = pool;
  const builds = jobs.filter((name) => name.startsWith(`build-${pool.pool}-`));
  const wrong = [
    ...nodes.flatMap(({ name, node, booted, recorded }) => [
      ...(booted === stockImage ? [] : [`node ${name} runs ${booted || 'nothing'}`]),
      ...(recorded === '' ? [] : [`the disk of node ${name} records ${recorded}`]),
      ...['currentImage', 'desiredImage']
        .filter((key) => annotation(node, key) !== '')
        .map((key) => `node ${name} has ${key} ${annotation(node, key)}`),
    ]),
    ...(osConfig === undefined ? ['it has no MachineOSConfig'] : []),
    ...(imageOf(osConfig) === '' ? [] : [`its MachineOSConfig names ${imageOf(osConfig)}`]),
    ...(builds.length === 1 ? [] : [`${builds.length} jobs build for it instead of one`]),
  ];
  return wrong.map((what) => `pool ${pool.pool} was to fall back: ${what}`);
}
