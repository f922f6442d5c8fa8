import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/adapters/clock.ts';
import { fakeRandom } from '../support/fake-random.ts';

describe.each([
  ['the system generator', systemRandom],
  ['the fake generator', fakeRandom()],
])('%s implements the random port', (_, random) => {
  it('returns unique UUIDs of version 4', () => {
    const uuids = Array.from({ length: 100 }, () => random.uuid());
    expect(new Set(uuids).size).toBe(100);
    for (const uuid of uuids) {
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });
});
