import { describe, expect, it } from 'vitest';
import { handOverFacts, stockFacts } from '../../../test/layering/hand-over-site.ts';
import { orderFor } from '../../../test/layering/lane-facts.ts';
import { overwriteAfterAll, overwriteUnlessBuilt } from './overwrite-unless-built.ts';

const { published } = handOverFacts;
const { published: stock } = stockFacts;
const off = { kind: 'off', why: 'no manifest' } as const;
const served = orderFor(['master'], 'first-boot');

const disk = { path: '/dev/sda' } as never;
const written = { disk, ignition: {} as never, written: {} as never };
const config = {} as never;

describe('the operating system of the release on the own disk', () => {
  it.each([
    ['nothing is ordered', off, published, [true, false]],
    ['nodes join with it anyway', orderFor(['master'], 'after-join'), published, [true, false]],
    ['the image was built', served, published, [false, false]],
    ['the image could not be built', served, stock, [false, true]],
  ] as const)('is written early, or after all, when %s', (...[, order, images, expected]) => {
    const early = overwriteUnlessBuilt.skipIf?.({ ...written, order }, config);
    const late = overwriteAfterAll.skipIf?.({ ...written, order, published: images }, config);
    expect([early === undefined, late === undefined]).toEqual(expected);
  });
});
