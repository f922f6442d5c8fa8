import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { masker, secretValues } from './masker.ts';

const maskerOf = (...secrets: readonly string[]) => {
  const one = masker();
  for (const secret of secrets) one.register(new Secret(secret));
  return one;
};

describe('the masker', () => {
  it.each([
    ['as it is', 's3cret-token', 'token=s3cret-token;', 'token=***;'],
    ['twice', 's3cret-token', 's3cret-token s3cret-token', '*** ***'],
    ['in JSON', 'a"b\\c-secret', JSON.stringify({ t: 'a"b\\c-secret' }), '{"t":"***"}'],
    [
      'in JSON as Go escapes it',
      'a&b<c>-secret',
      '{"t":"a\\u0026b\\u003cc\\u003e-secret"}',
      '{"t":"***"}',
    ],
    ['in a URL', 'a b/c=secret', '?key=a%20b%2Fc%3Dsecret', '?key=***'],
    ['in a form', 'a b/c=secret', 'key=a+b%2Fc%3Dsecret', 'key=***'],
    ['in a URL with lower-case escapes', 'a/b=secret', '?key=a%2fb%3dsecret', '?key=***'],
    ['of two characters', 'ab', 'x ab y', 'x *** y'],
  ])('masks a secret: %s', (...[, secret, text, masked]) => {
    expect(maskerOf(secret).mask(text)).toBe(masked);
  });

  it.each([
    ['of a redirect', 'from https://me:pw@cdn.example/a?b#c', 'from https://***@cdn.example/a?b#c'],
    ['in JSON', '{"u":"ftp://me:p@w@h","m":"a@b"}', '{"u":"ftp://***@h","m":"a@b"}'],
  ])('masks the user of a URL that no setting has: %s', (_, text, shown) => {
    expect(masker().mask(text)).toBe(shown);
  });

  it.each([
    ['an image by its digest', `docker://image@sha256:${'a'.repeat(64)} docker://h/i@sha256:ab`],
    ['a URL without a user beside an address', '{"u":"https://host","m":"a@b"} https://h/@b a@b'],
  ])('keeps %s', (_, text) => {
    expect(masker().mask(text)).toBe(text);
  });

  const long = 'abcdefghijklmnopqrstuvwxyz0123456789';
  it.each([
    ['masks a secret whose end is cut off', `said: ${long.slice(0, 20)}`, 'said: ***'],
    ['masks a secret whose beginning is cut off', `${long.slice(-20)} was said`, '*** was said'],
    [
      'masks a secret whose middle is cut out',
      `${long.slice(0, 12)} … ${long.slice(-12)}`,
      '*** … ***',
    ],
    ['masks a truncated secret in quotes', `"${long.slice(0, 20)}"`, '"***"'],
    [
      'does not mask a word that shares a prefix with the secret',
      'abcdefghijk-other',
      'abcdefghijk-other',
    ],
    ['does not mask a short prefix of the secret', 'abcdefgh', 'abcdefgh'],
  ])('%s', (_, text, shown) => {
    expect(maskerOf(long).mask(text)).toBe(shown);
  });

  const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n';
  it.each([
    [
      'masks two overlapping secrets',
      ['abcdefgh-ijkl', 'ijkl-mnopqrst'],
      'abcdefgh-ijkl-mnopqrst',
      '***',
    ],
    [
      'masks the longer of two secrets with a common prefix',
      ['secret', 'secret-longer'],
      'secret-longer',
      '***',
    ],
    [
      'masks a single line of a multi-line secret',
      [key],
      'read MIIEvQIBADANBgkqhkiG9w0B',
      'read ***',
    ],
    ['leaves text unchanged without a secret', [], 'text', 'text'],
    ['leaves text unchanged with an empty secret', [''], 'text', 'text'],
  ])('%s', (...[, secrets, text, shown]) => {
    expect(maskerOf(...secrets).mask(text)).toBe(shown);
  });

  // openshift-install and the machine-config-server write no kind (`clientcmd/api/v1.Config`).
  it.each([
    ['with its kind', ['apiVersion: v1', 'kind: Config']],
    ['without its kind', ['current-context: admin']],
    ['in JSON', ['    "kind": "Config",']],
  ])('masks the credentials of a kubeconfig %s, but not its names', (...[, head]) => {
    const { mask } = maskerOf(
      [
        ...head,
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

  it('masks the values of a secret file and not its keys', () => {
    const { mask } = maskerOf(
      'password: hello-world-is-my-pass\nname: hunter2-hunter2-hunter2\n"auth": "dXNlcjpwYXNzd29yZA==",\n',
    );
    const said = 'the password: is wrong; password: xx; mypassword: foo';
    expect(mask(said)).toBe(said);
    expect(mask('it has password: hello-world-is-my-pass; no')).toBe('it has password: ***; no');
    expect(mask('name hunter2-hunter2-hunter2, dXNlcjpwYXNzd29yZA==')).toBe('name ***, ***');
  });

  it.each([
    [
      'a key in a block',
      'tls.key: |\n    MIIEvQIBADAN+gkqhkiG9w0B/\n',
      'MIIEvQIBADAN+gkqhkiG9w0B/',
    ],
    ['a header', 'Authorization: Bearer c2VjcmV0/XRva2Vu==', 'c2VjcmV0/XRva2Vu=='],
    ['an item of a list', 'tokens:\n- c2VjcmV0+XRva2Vu==\n', 'c2VjcmV0+XRva2Vu=='],
    ['a line of an INI file', '[all]\npassword = p@ss/word-hunter2=\n', 'p@ss/word-hunter2='],
    [
      'a line of a netrc',
      'machine quay.io login a password p@ss/word-hunter2',
      'p@ss/word-hunter2',
    ],
    ['a registry', '"quay.io/org": "c2VjcmV0LXNlY3JldA=="', 'c2VjcmV0LXNlY3JldA=='],
    ['a short value', 'password: hunter2', 'hunter2'],
    ['the end of a passphrase', 'correct horse battery staple', 'battery staple'],
  ])('masks %s that stands alone in a text', (...[, file, secret]) => {
    expect(maskerOf(file).mask(`the words ${secret} were refused`)).toBe(
      'the words *** were refused',
    );
  });

  const printable = fc.string({ minLength: 12, maxLength: 60 });

  it('masks a secret in base64-encoded text', () => {
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

  it('masks any secret in JSON and in a URL', () => {
    fc.assert(
      fc.property(printable, (secret) => {
        const { mask } = maskerOf(secret);
        expect(mask(JSON.stringify({ secret }))).toBe('{"secret":"***"}');
        expect(mask(`?s=${encodeURIComponent(secret.toWellFormed())}`)).toBe('?s=***');
      }),
    );
  });
});

it('returns secret settings and the secrets within URLs', () => {
  const settings = {
    service: { token: new Secret('the-token') },
    image: { url: 'http://user:s3cretpw@mirror.example/a.raw?X-Sig=abcdef' },
  };
  expect(secretValues(settings).map((secret) => secret.reveal())).toEqual([
    'the-token',
    'user:s3cretpw',
    's3cretpw',
    'X-Sig=abcdef',
  ]);
});
