import { describe, expect, it } from 'vitest';
import { osConfig } from '../../../test/layering/samples.ts';
import { osConfigFindings, referenceFindings } from './os-config-findings.ts';

describe('osConfigFindings', () => {
  it.each([
    [
      'an upper-case repository',
      { renderedImagePushSpec: 'reg.example.com/A/x:t' },
      'master',
      [/cannot read reg\.example\.com\/A\/x:t/],
    ],
    [
      'an octal address',
      { renderedImagePushSpec: '192.000.2.5/a/x:t' },
      'master',
      [/four decimal/],
    ],
    ['a port above 65535', { renderedImagePushSpec: 'r.io:99999/a/x:t' }, 'master', [/65535/]],
    ['a name of 22 characters', {}, 'p'.repeat(22), [/a name of at most 21 characters/]],
    ['nothing for a name of 21 characters', {}, 'p'.repeat(21), []],
  ])('reports %s', (...[, spec, name, expected]) => {
    const messages = osConfigFindings(osConfig(spec, name)).map(({ message }) => message);
    expect(messages).toEqual(expected.map((text) => expect.stringMatching(text) as string));
  });
});

describe('referenceFindings', () => {
  it('never quotes the content of a Secret', () => {
    const data = { '.dockerconfigjson': 'hidden' };
    const type = 'kubernetes.io/dockerconfigjson';
    const secrets = [{ name: 'ocl-push', type, data }];
    const [finding] = referenceFindings(osConfig(), { pools: ['master'], secrets });
    expect(finding?.message).toBe('.dockerconfigjson of Secret ocl-push is not JSON');
  });
});
