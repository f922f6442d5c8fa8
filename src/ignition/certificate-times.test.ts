import { describe, expect, it } from 'vitest';
import { authority, expiredAuthority } from '../../test/support/authority.ts';
import { minutes } from '../model/duration.ts';
import { invalidCertificate } from './certificate-times.ts';
import { embeddedFile } from './resource.ts';
import type { Config } from './types.ts';

const issuedAt = Date.parse('2026-11-21T10:27:30Z');
const now = Date.parse('2026-12-01T00:00:00Z');
const source = (text: string): string => `data:;base64,${Buffer.from(text).toString('base64')}`;

const trusting = (text: string): Config => ({
  ignition: {
    version: '3.2.0',
    security: { tls: { certificateAuthorities: [{ source: source(text) }] } },
  },
});
const withFile = (path: string, text: string): Config => ({
  ignition: { version: '3.2.0' },
  storage: { files: [embeddedFile(path, text, 0o644)] },
});
const signer = '/opt/openshift/tls/aggregator-signer.crt';

describe('invalidCertificate', () => {
  it.each<[string, Config, number]>([
    ['valid certificates', trusting(authority), now],
    [
      'a valid certificate beside an expired one',
      trusting(`${expiredAuthority}\n${authority}`),
      now,
    ],
    ['a clock that is four minutes behind', trusting(authority), issuedAt - minutes(4)],
    ['a valid certificate of the bootstrap', withFile(signer, authority), now],
    [
      'an expired certificate in another path',
      withFile('/etc/pki/ca-trust/source/anchors/ca.crt', expiredAuthority),
      now,
    ],
    [
      'an expired certificate in a file without the extension .crt',
      withFile('/opt/openshift/tls/a.key', expiredAuthority),
      now,
    ],
    ['a certificate that cannot be parsed', trusting(authority.replace(/\nMIIB/, '\nAAAA')), 0],
    [
      'a certificate with a remote source',
      {
        ignition: {
          version: '3.2.0',
          security: { tls: { certificateAuthorities: [{ source: 'https://a.example/ca' }] } },
        },
      },
      now,
    ],
  ])('accepts %s', (_, config, at) => {
    expect(invalidCertificate(config, at)).toBeUndefined();
  });

  it.each<[string, Config, number]>([
    ['the authority of the config server', trusting(authority), issuedAt - minutes(4) - 1],
    ['the authority of the config server', trusting(expiredAuthority), now],
    [signer, withFile(signer, expiredAuthority), now],
    [signer, withFile(signer, authority), Date.parse('2127-01-01')],
  ])('reports the validity of %s outside of its time', (name, config, at) => {
    expect(invalidCertificate(config, at)).toMatch(
      new RegExp(`^${name} is valid from 20\\d\\d-\\S+Z to 2\\d{3}-\\S+Z$`),
    );
  });
});
