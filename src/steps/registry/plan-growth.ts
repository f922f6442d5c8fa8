import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { minutes } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { freePercent } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { lsblkArgv } from '../disk/lsblk.ts';
import { readTarget } from '../disk/target.ts';
import { step, type StepScope } from '../step.ts';
import { registryFailure, RegistryMedia } from './find-media.ts';

/** Where the registry data of the live medium is mounted. */
export const registrySource = '/mnt/agentdata';

/** Measures the registry data. */
const measureArgv = ['du', '-sb', registrySource] as const;

const RegistryGrowthSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none') }),
  /** Percent of the disk that stay free when the root partition has grown for the registry. */
  z.object({ kind: z.literal('grow'), freePercent: z.number() }),
]);

/** How far the root partition grows for the registry of the live medium. */
export const RegistryGrowth = fact('registry.growth', RegistryGrowthSchema);
export type RegistryGrowth = z.infer<typeof RegistryGrowthSchema>;

/**
 * Decides how far the root partition grows for the registry of the live medium. Once, before it grows: counted again
 * afterwards, the room that was made for the registry would be room that the disk lacks.
 */
export const planRegistryGrowth = step({
  id: 'registry/plan-growth',
  title: 'Measure the registry of the live medium and the room on the install disk',
  uses: ['host'],
  needs: { disk: TargetDisk, media: RegistryMedia },
  gives: RegistryGrowth,
  when: writesDisk,
  limit: minutes(15),
  preview: () => [measureArgv, lsblkArgv],
  run: async (scope, { disk: target, media }) => {
    if (!media.isPresent) return { kind: 'none' } as const;
    const needed = bytesForRegistry(await measure(scope));
    const disk = await readTarget(scope.host, target, scope.signal);
    const percent = freePercent(disk, needed);
    if (percent >= 1) return { kind: 'grow', freePercent: percent } as const;
    throw registryFailure(
      'registry.disk-too-small',
      `${target.path} is too small for the registry data, which needs ${needed} bytes`,
      { context: { disk: target.path, sizeBytes: disk.sizeBytes, bytesForRegistry: needed } },
    );
  },
});

async function measure({ host, signal }: StepScope<'host'>): Promise<number> {
  const { stdout } = await host.exec(measureArgv, { signal, limit: minutes(10) });
  const bytes = parseMeasured(stdout);
  if (bytes !== undefined) return bytes;
  throw registryFailure('registry.unreadable', `du printed no size: ${stdout.slice(0, 200)}`, {
    context: { directory: registrySource },
  });
}

/** The bytes that `measureArgv` printed; undefined when it printed something else. */
export function parseMeasured(stdout: string): number | undefined {
  const bytes = /^\s*(\d+)(?:\s|$)/.exec(stdout)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Room that the data needs: two and a half times its size, as upgrades bring their own. */
export const bytesForRegistry = (registryBytes: number): number =>
  Math.floor((registryBytes * 5) / 2);
