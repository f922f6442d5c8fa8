import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { canonicalJson, fingerprintOf } from './fingerprint.ts';
import { Config, type ConfigInput } from './schema.ts';

const of = (input: ConfigInput): string => fingerprintOf(Config.parse(input));

describe('fingerprintOf', () => {
  it('is a SHA-256 that the same configuration has again', () => {
    expect(of({})).toMatch(/^[0-9a-f]{64}$/);
    expect(of({ disk: { device: '/dev/a' } })).toBe(of({ disk: { device: '/dev/a' } }));
  });

  it.each<[string, ConfigInput]>([
    ['a disk', { disk: { device: '/dev/a' } }],
    ['a role', { role: 'worker' }],
    ['the order of arguments', { image: { writerArgs: ['a', 'b'] } }],
  ])('changes with %s', (_, input) => {
    expect(of(input)).not.toBe(of({}));
  });

  it.each<[string, ConfigInput]>([
    ['a token', { service: { token: new Secret('t') } }],
    ['a key', { s3: { secretAccessKey: new Secret('k') } }],
    ['how the run is logged', { log: { verbose: true, format: 'json' } }],
  ])('does not change with %s', (_, input) => {
    expect(of(input)).toBe(of({}));
  });
});

describe('canonicalJson', () => {
  it('sorts keys at every depth and keeps the order of lists', () => {
    expect(canonicalJson({ b: [2, 1], a: { d: 1, c: new Secret('x') } })).toBe(
      '{"a":{"d":1},"b":[2,1]}',
    );
  });
});
