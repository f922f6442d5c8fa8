import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { chooseSource, explainSource } from './sources.ts';

const service = { url: 'https://svc.example' };
const s3 = { endpoint: 'http://s3.example', bucket: 'test' };
const url = 'http://web.example/m.ign';
const file = '/opt/m.ign';

describe('the source of Ignition', () => {
  it.each<[string, ConfigInput, string]>([
    ['the service alone', { service }, 'service'],
    ['an object store', { s3 }, 's3'],
    ['an object store beside a service', { s3, service }, 's3'],
    ['a URL beside a service', { ignition: { url }, service }, 'url'],
    ['a file beside all others', { ignition: { url, file }, service, s3 }, 'file'],
    ['the one that is named', { ignition: { url, file, source: 'service' }, service }, 'service'],
    ['the named object store', { ignition: { file, source: 's3' }, s3 }, 's3'],
  ])('is, with %s, the right one', (_, input, expected) => {
    expect(chooseSource(Config.parse(input)).name).toBe(expected);
  });

  it.each<[string, ConfigInput]>([
    ['nothing is set', {}],
    ['the bucket is missing', { s3: { endpoint: 'http://s3.example' } }],
    ['the named one is not set', { ignition: { source: 'url' }, service }],
  ])('is refused when %s', (_, input) => {
    const config = Config.parse(input);
    expect(() => chooseSource(config)).toThrow(
      expect.objectContaining({ code: 'ignition.not-configured', kind: 'input' }),
    );
    expect(explainSource(config)).toContain('source of Ignition');
  });

  it('is explained with its place and the reason', () => {
    expect(explainSource(Config.parse({ service }))).toBe(
      'from service: https://svc.example (service.url is set)',
    );
  });
});
