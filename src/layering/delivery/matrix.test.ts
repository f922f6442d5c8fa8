import { describe, expect, it } from 'vitest';
import { deliveryOf } from './matrix.ts';

describe('deliveryOf', () => {
  it.each([
    ['4.4', 'none'],
    ['4.17.30', 'none'],
    ['4.18.0', 'none'],
    ['4.18.20', 'none'],
    ['4.18.21', 'after-join'],
    ['4.19.0', 'after-join'],
    ['4.20.99', 'after-join'],
    ['4.21.0-ec.3', 'first-boot'],
    ['4.21.0', 'first-boot'],
    ['4.22.1', 'first-boot'],
    ['4.23.0-0.nightly-2026-08-20-000000', 'first-boot'],
    ['5.0.0', 'first-boot'],
    ['', 'none'],
    ['latest', 'none'],
  ])('says for release %j: %s', (version, kind) => {
    expect(deliveryOf(version).kind).toBe(kind);
  });

  it.each(['4.17.0', '4.20.0', '4.21.0', 'latest'])('says why for %s, and of what', (version) => {
    expect(deliveryOf(version).why).toContain(version);
  });
});
