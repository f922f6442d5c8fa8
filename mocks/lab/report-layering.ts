import { finalOf } from '../cluster/layering/judge.ts';
import type { LayeredSite } from '../cluster/layering/site.ts';
import { builtPools } from '../layering/plan.ts';
import type { LayeringReport } from './report.ts';

/** What was built and which registries were asked, for the report. */
export function reportLayering(layered: LayeredSite): LayeringReport {
  const { asked } = layered.network;
  const registries = [...new Set(asked.map(({ registry }) => registry))].toSorted();
  return {
    images: builtPools
      .map((pool) => ({ pool, image: finalOf(layered, pool) }))
      .filter(({ image }) => image !== ''),
    registries: registries.map((registry) => {
      const own = asked.filter((one) => one.registry === registry);
      const granted = own.filter(({ trouble }) => trouble === undefined);
      return {
        registry,
        pulls: granted.filter(({ verb }) => verb === 'pull').length,
        pushes: granted.filter(({ verb }) => verb === 'push').length,
        refused: own.length - granted.length,
      };
    }),
  };
}
