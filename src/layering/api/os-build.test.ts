import { describe, expect, it } from 'vitest';
import { seededBuildStatus } from './os-build.ts';

const at = new Date('2026-01-01T00:00:00.700Z');

describe('seededBuildStatus', () => {
  it.each([
    [at, '2026-01-01T00:00:01Z'],
    [new Date('2026-01-01T00:00:09.100Z'), '2026-01-01T00:00:09Z'],
  ])('has an end at least one second after its start', (endedAt, buildEnd) => {
    expect(seededBuildStatus('i', at, endedAt)).toMatchObject({
      buildStart: '2026-01-01T00:00:00Z',
      buildEnd,
    });
  });
});
