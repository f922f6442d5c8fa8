import { type Builder, removeArgv } from '../../../layering/build/container-tools.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import {
  type Inside,
  insideReader,
  lookInsideArgv,
  lookInsideContainerfile,
  lookTag,
  objectionTo,
} from '../../../layering/build/verify-image.ts';
import { minutes } from '../../../model/duration.ts';
import { factsOf, unreadable } from './image-facts.ts';
import type { ImageWork } from './work.ts';

/** An image of the store, and what it has to be. */
export interface ImageToVerify {
  readonly builder: Builder;
  readonly scratch: string;
  readonly tag: string;
  readonly base: string;
  readonly renderedConfig: string;
  readonly pool: string;
}

const longestLook = minutes(10);

/**
 * Looks at an image before anybody else gets it.
 * @throws AgentError `layering.image-*`
 */
export async function verifyImage(work: ImageWork, of: ImageToVerify): Promise<void> {
  const { tag: image, renderedConfig, pool } = of;
  work.progress({ info: `Checking OS image of ${pool}` });
  const { architecture } = await factsOf(work, of.builder, of.base);
  const facts = await factsOf(work, of.builder, image);
  const inside = await lookInside(work, of);
  const objection = objectionTo({ image, renderedConfig, pool, architecture }, facts, inside);
  if (objection !== undefined) throw objection;
  if (inside.lint !== undefined) await blameForLint(work, of, inside.lint);
}

/**
 * What bootc says of the base already is not the fault of the Containerfile, and no reason to install nothing.
 * @throws AgentError `layering.image-lint`
 */
async function blameForLint(work: ImageWork, of: ImageToVerify, said: string): Promise<void> {
  const { tag: image, base } = of;
  const ofBase = await lookInside(work, { ...of, tag: base });
  if (ofBase.lint === undefined) {
    throw layeringFailure('layering.image-lint', `${image}: ${said}`, { context: { image, base } });
  }
  work.note('warn', 'bootc finds faults that the base has too', { base, faults: ofBase.lint });
}

async function lookInside(
  { host, signal, note }: ImageWork,
  { builder, scratch, tag, pool }: ImageToVerify,
): Promise<Inside> {
  const context = `${scratch}/look`;
  const containerfile = `${context}/Containerfile`;
  const looked = lookTag(pool);
  await host.exec(['mkdir', '-p', context], { signal, limit: minutes(1) });
  await host.writeFile(containerfile, lookInsideContainerfile(tag), { signal, mode: 0o644 });
  const reader = insideReader();
  const argv = lookInsideArgv(builder, { context, containerfile, tag: looked });
  try {
    await host.exec(argv, {
      signal,
      limit: longestLook,
      env: { TMPDIR: scratch },
      onLine: reader.line,
    });
  } catch (error) {
    throw unreadable(error, tag);
  }
  await host
    .exec(removeArgv(builder, looked), { signal, limit: longestLook })
    .catch(() => note('debug', 'what the look left in the store is still there'));
  return reader.seen();
}
