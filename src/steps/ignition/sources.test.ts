import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { chooseSource, explainSource } from './sources.ts';

const service = { url: 'https://svc.example' };
const s3 = { endpoint: 'http://s3.example', bucket: 'test' };
const url = 'http://web.example/m.ign';
const file = '/opt/m.ign';

describe('chooseSource', () => {
  it.each<[string, ConfigInput, string]>([
    ['the service only', { service }, 'service'],
    ['an object store', { s3 }, 's3'],
    ['an object store and a service', { s3, service }, 's3'],
    ['a URL and a service', { ignition: { url }, service }, 'url'],
    ['a file and all others', { ignition: { url, file }, service, s3 }, 'file'],
    ['source service', { ignition: { url, file, source: 'service' }, service }, 'service'],
    ['source s3', { ignition: { file, source: 's3' }, s3 }, 's3'],
  ])('returns the expected source for %s', (_, input, expected) => {
    expect(chooseSource(Config.parse(input)).name).toBe(expected);
  });

  it.each<[string, ConfigInput]>([
    ['nothing is set', {}],
    ['the bucket is missing', { s3: { endpoint: 'http://s3.example' } }],
    ['the named source is not set', { ignition: { source: 'url' }, service }],
  ])('fails when %s', (_, input) => {
    const config = Config.parse(input);
    expect(() => chooseSource(config)).toThrow(
      expect.objectContaining({ code: 'ignition.not-configured', kind: 'input' }),
    );
    expect(explainSource(config)).toContain('source of Ignition');
  });

  it('gives the address and the reason in explainSource', () => {
    expect(explainSource(Config.parse({ service }))).toBe(
      'from service: https://svc.example (service.url is set)',
    );
  });
});
