import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { chooseBootstrapSource, explainBootstrapSource } from './choose-source.ts';

const service = { url: 'https://svc.example' };
const s3 = { endpoint: 'http://s3.example', bucket: 'test' };
const cluster = { id: 'c' };
const url = 'http://web.example/m.ign';
const inS3 = 'from http://s3.example, test/c/bootstrap.ign';
const atService = 'from https://svc.example';

describe('the source of bootstrap.ign', () => {
  it.each<[string, ConfigInput, string]>([
    ['the service alone', { service }, atService],
    ['an object store', { s3, cluster }, inS3],
    ['an object store beside the service', { s3, service, cluster }, inS3],
    ['the service, as is said', { s3, service, ignition: { source: 'service' } }, atService],
    ['the object store, as is said', { s3, cluster, ignition: { source: 's3' } }, inS3],
    ['a URL for the host alone', { service, ignition: { url, source: 'url' } }, atService],
  ])('is, with %s, the right one', (_, input, expected) => {
    expect(explainBootstrapSource(Config.parse(input))).toBe(expected);
  });

  it.each<[string, ConfigInput]>([
    ['nothing is set', {}],
    ['only a URL of the host is', { ignition: { url } }],
    ['only a file of the host is', { ignition: { file: '/opt/m.ign' } }],
    ['the bucket is missing', { s3: { endpoint: 'http://s3.example' } }],
    ['the one that is named is not set', { s3, ignition: { source: 'service' } }],
  ])('is refused when %s', (_, input) => {
    const config = Config.parse(input);
    expect(() => chooseBootstrapSource(config)).toThrow(
      expect.objectContaining({ code: 'bootstrap.no-source', kind: 'input' }),
    );
    expect(explainBootstrapSource(config)).toContain('neither is configured');
  });
});
