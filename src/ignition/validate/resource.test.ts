import { describe, expect, it } from 'vitest';
import { requiredSourceViolation, sourceViolation, urlScheme } from './resource.ts';

describe('a URL', () => {
  it.each([
    ['http://h', 'http'],
    ['HTTPS://h:8/a%20b?c d#e', 'https'],
    ['http://u:p@[fe80::1%25en0]:8/', 'http'],
    ['http:opaque', 'http'],
    ['http://', 'http'],
    ['a/b', ''],
    ['//h/a', ''],
    ['', ''],
    ['http://h:p/', undefined],
    ['http://[::1/', undefined],
    ['http://a[::1]/', undefined],
    ['http://a b/', undefined],
    ['http://u v@h/', undefined],
    ['http://h/%4', undefined],
    ['http://h/#%zz', undefined],
    ['http://h/\n', undefined],
    [':a', undefined],
    ['a b:c', undefined],
  ])('%j has the scheme %j', (url, scheme) => {
    expect(urlScheme(url)).toBe(scheme);
  });
});

describe('a source', () => {
  it.each([
    ['arn:aws:s3:::bucket/key', 4, undefined],
    ['arn:aws:s3:::bucket/key?versionId=1', 4, undefined],
    ['arn:aws:s3:::bucket/key?versionId=', 4, 'url-s3-version'],
    ['arn:aws:s3:::bucket', 4, 'url-s3-arn'],
    ['arn:aws:s3:us:1:accesspoint/name', 4, 'url-s3-arn'],
    ['arn:aws:s3:us:1:accesspoint/name/key', 4, undefined],
    ['arn:aws:s3', 4, 'url-s3-arn'],
    ['s3://bucket/key??versionId=', 0, undefined],
    ['tftp://h/a', 0, undefined],
    ['a/b', 5, 'url-scheme'],
  ])('%j in spec 3.%i breaks the rule %j', (source, minor, rule) => {
    expect(sourceViolation(source, minor)).toBe(rule);
  });

  it('may be empty where it need not be there', () => {
    expect([sourceViolation('', 5), sourceViolation(undefined, 5)]).toEqual([undefined, undefined]);
    expect(requiredSourceViolation('', 5)).toBe('source-required');
  });
});
