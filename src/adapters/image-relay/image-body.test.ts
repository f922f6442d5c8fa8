import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdBack } from './image-body.ts';

async function* bodyOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

async function drained(
  pieces: readonly Uint8Array[],
  options: Parameters<typeof holdBack>[1],
): Promise<{ readonly given: Uint8Array; readonly failure?: unknown }> {
  const given: Uint8Array[] = [];
  try {
    for await (const piece of holdBack(bodyOf(pieces), options)) given.push(piece);
  } catch (failure) {
    return { given: Buffer.concat(given), failure };
  }
  return { given: Buffer.concat(given) };
}

const bodies = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });

describe('holding back the end of a body', () => {
  it('gives every byte in its order when the check accepts', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 0, max: 60 }), async (pieces, bytes) => {
        const { given } = await drained(pieces, { bytes, check: () => undefined });
        expect(Buffer.compare(given, Buffer.concat(pieces))).toBe(0);
      }),
    );
  });

  it('never gives the last bytes when the check refuses', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 1, max: 60 }), async (pieces, bytes) => {
        const refusal = new Error('refused');
        const check = (): void => {
          throw refusal;
        };
        const { given, failure } = await drained(pieces, { bytes, check });
        const whole = Buffer.concat(pieces);
        expect(failure).toBe(refusal);
        expect(given.length).toBeLessThanOrEqual(Math.max(0, whole.length - bytes));
        expect(Buffer.compare(given, whole.subarray(0, given.length))).toBe(0);
      }),
    );
  });
});
