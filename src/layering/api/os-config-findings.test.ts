import { describe, expect, it } from 'vitest';
import { osConfig } from '../../../test/layering/samples.ts';
import { osConfigFindings, referenceFindings, type RegistrySecret } from './os-config-findings.ts';

describe('osConfigFindings', () => {
  it.each([
    ['nothing', {}, 'master', []],
    [
      'two namespaces',
      { renderedImagePushSpec: 'reg.example.com/a/b/x:t' },
      'master',
      [/at most one namespace; shorten reg\.example\.com/],
    ],
    [
      'upper case',
      { renderedImagePushSpec: 'reg.example.com/A/x:t' },
      'master',
      [/cannot read reg\.example\.com\/A\/x:t/],
    ],
    [
      'a file for one architecture',
      { containerFile: [{ containerfileArch: 'AMD64', content: '' }] },
      'master',
      [/ignores the one for AMD64: write NoArch/],
    ],
    ['a long name', {}, 'p'.repeat(22), [/a name of at most 21 characters/]],
    ['the longest name', {}, 'p'.repeat(21), []],
  ])('names %s', (...[, spec, name, expected]) => {
    const messages = osConfigFindings(osConfig(spec, name)).map(({ message }) => message);
    expect(messages).toEqual(expected.map((text) => expect.stringMatching(text) as string));
  });
});

describe('referenceFindings', () => {
  const secret = (change: Partial<RegistrySecret> = {}): RegistrySecret => ({
    name: 'ocl-push',
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': '{"auths":{}}' },
    ...change,
  });

  it.each<[string, readonly string[], readonly RegistrySecret[], readonly RegExp[]]>([
    ['nothing', ['master'], [secret()], []],
    [
      'nothing with the older type',
      ['master'],
      [secret({ type: 'kubernetes.io/dockercfg', data: { '.dockercfg': '{}' } })],
      [],
    ],
    ['a pool that is not there', ['worker'], [secret()], [/no MachineConfigPool master/]],
    ['a Secret that is not there', ['master'], [], [/no Secret ocl-push/]],
    ['another type', ['master'], [secret({ type: 'Opaque' })], [/of type Opaque: create one of/]],
    ['a missing key', ['master'], [secret({ data: {} })], [/has no \.dockerconfigjson/]],
    [
      'content that is no JSON, which it never quotes',
      ['master'],
      [secret({ data: { '.dockerconfigjson': 'hidden' } })],
      [/^\.dockerconfigjson of Secret ocl-push is not JSON$/],
    ],
  ])('names %s', (...[, pools, secrets, expected]) => {
    const found = referenceFindings(osConfig(), { pools, secrets });
    expect(found.map(({ message }) => message)).toEqual(
      expected.map((text) => expect.stringMatching(text) as string),
    );
  });
});
