import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { masker } from './masker.ts';

const maskerOf = (...secrets: readonly string[]) => {
  const one = masker();
  for (const secret of secrets) one.register(new Secret(secret));
  return one;
};

describe('the masker', () => {
  it.each([
    ['itself', 's3cret-token', 'token=s3cret-token;', 'token=***;'],
    ['twice', 's3cret-token', 's3cret-token s3cret-token', '*** ***'],
    ['in JSON', 'a"b\\c-secret', JSON.stringify({ t: 'a"b\\c-secret' }), '{"t":"***"}'],
    ['in JSON by Go', 'a&b<c>-secret', '{"t":"a\\u0026b\\u003cc\\u003e-secret"}', '{"t":"***"}'],
    ['in a URL', 'a b/c=secret', '?key=a%20b%2Fc%3Dsecret', '?key=***'],
    ['in a form', 'a b/c=secret', 'key=a+b%2Fc%3Dsecret', 'key=***'],
    ['in a URL by others', 'a/b=secret', '?key=a%2fb%3dsecret', '?key=***'],
    ['a short one', 'ab', 'x ab y', 'x *** y'],
  ])('takes out a secret: %s', (...[, secret, text, masked]) => {
    expect(maskerOf(secret).mask(text)).toBe(masked);
  });

  const long = 'abcdefghijklmnopqrstuvwxyz0123456789';
  it.each([
    ['its end is cut off', `said: ${long.slice(0, 20)}`, 'said: ***'],
    ['its beginning is cut off', `${long.slice(-20)} was said`, '*** was said'],
    ['its middle is cut out', `${long.slice(0, 12)} … ${long.slice(-12)}`, '*** … ***'],
    ['it is cut inside quotes', `"${long.slice(0, 20)}"`, '"***"'],
    ['a word only begins like it', 'abcdefghijk-other', 'abcdefghijk-other'],
    ['too little of it is left', 'abcdefgh', 'abcdefgh'],
  ])('takes out what is left of a secret where %s', (_, text, shown) => {
    expect(maskerOf(long).mask(text)).toBe(shown);
  });

  it('takes out two secrets that overlap', () => {
    expect(maskerOf('abcdefgh-ijkl', 'ijkl-mnopqrst').mask('abcdefgh-ijkl-mnopqrst')).toBe('***');
  });

  it('takes out a line of a secret with several', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n';
    expect(maskerOf(key).mask('read MIIEvQIBADANBgkqhkiG9w0B')).toBe('read ***');
  });

  it('leaves names and addresses of a kubeconfig, and takes out its keys', () => {
    const { mask } = maskerOf(
      [
        'apiVersion: v1',
        'kind: Config',
        'clusters:',
        '- cluster:',
        '    server: https://api.lab.example.com:6443',
        '  name: lab-of-the-north',
        '    namespace: openshift-machine-config-operator',
        'users:',
        '- name: admin',
        '    token: sha256~s3cret-of-the-administrator',
        '    server: https://user:password@api.lab.example.com:6443',
        '-----BEGIN RSA PRIVATE KEY-----',
        '',
      ].join('\n'),
    );
    for (const text of [
      'https://api.lab.example.com:6443 cannot be reached',
      'pods in openshift-machine-config-operator',
      'of lab-of-the-north',
      'no -----BEGIN RSA PRIVATE KEY----- in it',
    ])
      expect(mask(text)).toBe(text);
    expect(mask('with sha256~s3cret-of-the-administrator')).toBe('with ***');
    expect(mask('at https://user:password@api.lab.example.com:6443')).toBe('at ***');
  });

  it('leaves the keys of a secret file, and takes out all of its values', () => {
    const { mask } = maskerOf(
      'password: hello-world-is-my-pass\nname: hunter2-hunter2-hunter2\n"auth": "dXNlcjpwYXNzd29yZA==",\n',
    );
    const said = 'the password: is wrong; password: xx; mypassword: foo';
    expect(mask(said)).toBe(said);
    expect(mask('it has password: hello-world-is-my-pass; no')).toBe('it has password: ***; no');
    expect(mask('name hunter2-hunter2-hunter2, dXNlcjpwYXNzd29yZA==')).toBe('name ***, ***');
  });

  it('leaves text alone when there is nothing to hide', () => {
    expect(maskerOf('').mask('text')).toBe('text');
    expect(masker().mask('text')).toBe('text');
  });

  it('takes out the longer of two secrets that begin alike', () => {
    expect(maskerOf('secret', 'secret-longer').mask('secret-longer')).toBe('***');
  });

  const printable = fc.string({ minLength: 12, maxLength: 60 });

  it('leaves no base64 of a text with a secret in it that could be decoded', () => {
    fc.assert(
      fc.property(fc.string(), printable, fc.string(), (before, secret, after) => {
        const encoded = Buffer.from(before + secret + after).toString('base64');
        const masked = maskerOf(secret).mask(encoded);
        expect(masked).toContain('***');
        const left = masked.split('***').map((part) => Buffer.from(part, 'base64').toString());
        for (const part of left) expect(part).not.toContain(secret);
      }),
    );
  });

  it('leaves no JSON and no URL with a secret in it', () => {
    fc.assert(
      fc.property(printable, (secret) => {
        const { mask } = maskerOf(secret);
        expect(mask(JSON.stringify({ secret }))).toBe('{"secret":"***"}');
        expect(mask(`?s=${encodeURIComponent(secret.toWellFormed())}`)).toBe('?s=***');
      }),
    );
  });
});
