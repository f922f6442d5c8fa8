import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from './json-schema.ts';

const validate = new Ajv2020({ formats: { uri: true } }).compile(configJsonSchema());

describe('configJsonSchema', () => {
  it.each([
    {},
    { role: 'worker', disk: { device: '/dev/sda', format: ['/dev/b'] } },
    { service: { url: 'http://h', tokenFile: '/run/secrets/token' } },
  ])('takes %j', (document) => {
    expect(validate(document)).toBe(true);
  });

  it.each([
    { dsk: {} },
    { disk: { devise: '/dev/sda' } },
    { disk: { format: '/dev/b' } },
    { role: 'emperor' },
    { service: { token: 'hidden' } },
  ])('refuses %j', (document) => {
    expect(validate(document)).toBe(false);
  });
});
