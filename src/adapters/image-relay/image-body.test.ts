import fc from '../../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { holdBack } from './loopback-relay.ts';

async function* bodyOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

async function drained(
  chunks: readonly Uint8Array[],
  options: Parameters<typeof holdBack>[1],
): Promise<{ readonly given: Uint8Array; readonly failure?: unknown }> {
  const given: Uint8Array[] = [];
  try {
    for await (const chunk of holdBack(bodyOf(chunks), options)) given.push(chunk);
  } catch (failure) {
    return { given: Buffer.concat(given), failure };
  }
  return { given: Buffer.concat(given) };
}

const bodies = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });

describe('holdBack', () => {
  it('passes on all bytes in order when the check succeeds', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 0, max: 60 }), async (chunks, bytes) => {
        const { given } = await drained(chunks, { bytes, check: () => undefined });
        expect(Buffer.compare(given, Buffer.concat(chunks))).toBe(0);
      }),
    );
  });

  it('does not pass on the last bytes when the check fails', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 1, max: 60 }), async (chunks, bytes) => {
        const refusal = new Error('refused');
        const check = (): void => {
          throw refusal;
        };
        const { given, failure } = await drained(chunks, { bytes, check });
        const whole = Buffer.concat(chunks);
        expect(failure).toBe(refusal);
        expect(given.length).toBeLessThanOrEqual(Math.max(0, whole.length - bytes));
        expect(Buffer.compare(given, whole.subarray(0, given.length))).toBe(0);
      }),
    );
  });
});
