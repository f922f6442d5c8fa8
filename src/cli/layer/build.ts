import { builtFrom, builtFromLabel } from '../../layering/build/built-from.ts';
import { planBuild } from '../../layering/build/plan.ts';
import { minutes } from '../../model/duration.ts';
import { buildImage } from '../../steps/layering/images/build-image.ts';
import { type ImageCall, onThisMachine } from './image-work.ts';

/** Nobody waits for this build but the one who asked for it. */
const longestBuild = minutes(120);

/**
 * Builds and verifies the image of a pool on this machine, by the code of an installation, and prints its name in
 * the store.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export const runLayerBuild = (call: ImageCall): Promise<number> =>
  onThisMachine(call, async ({ work, scratch, ...job }) => {
    const labels = { [builtFromLabel]: builtFrom(planBuild(job), job.machineConfig) };
    const build = { ...job, labels, scratch: `${scratch}/build`, limit: longestBuild };
    const name = await buildImage(work, build);
    process.stdout.write(`${name}\n`);
  });
