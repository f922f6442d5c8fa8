import { describe, expect, it } from 'vitest';
import { releaseOs } from '../layering/plan.ts';
import { systemName } from './report.ts';

describe('systemName', () => {
  it.each([
    [releaseOs, 'stock'],
    [`r.test:5000/ocl/master@sha256:${'ab'.repeat(32)}`, 'master@sha256:abababab…'],
  ])('says %s in few words', (image, words) => {
    expect(systemName(image)).toBe(words);
  });
});
