import { describe, expect, it } from 'vitest';
import { authority, expiredAuthority } from '../../test/support/authority.ts';
import { minutes } from '../model/duration.ts';
import { invalidCertificate } from './certificate-times.ts';
import { embeddedFile } from './resource.ts';
import type { Config } from './types.ts';

const made = Date.parse('2026-11-21T10:27:30Z');
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

describe('certificates of a cluster', () => {
  it.each<[string, Config, number]>([
    ['at their time', trusting(authority), now],
    ['beside old ones', trusting(`${expiredAuthority}\n${authority}`), now],
    ['by a clock that is a little behind', trusting(authority), made - minutes(4)],
    ['of a bootstrap', withFile(signer, authority), now],
    ['elsewhere', withFile('/etc/pki/ca-trust/source/anchors/ca.crt', expiredAuthority), now],
    ['that are no certificates', withFile('/opt/openshift/tls/a.key', expiredAuthority), now],
    ['that nobody can read', trusting(authority.replace(/\nMIIB/, '\nAAAA')), 0],
    [
      'that are fetched',
      {
        ignition: {
          version: '3.2.0',
          security: { tls: { certificateAuthorities: [{ source: 'https://a.example/ca' }] } },
        },
      },
      now,
    ],
  ])('are used: %s', (_, config, at) => {
    expect(invalidCertificate(config, at)).toBeUndefined();
  });

  it.each<[string, Config, number]>([
    ['the authority of the config server', trusting(authority), made - minutes(4) - 1],
    ['the authority of the config server', trusting(expiredAuthority), now],
    [signer, withFile(signer, expiredAuthority), now],
    [signer, withFile(signer, authority), Date.parse('2127-01-01')],
  ])('are refused: %s', (name, config, at) => {
    expect(invalidCertificate(config, at)).toMatch(
      new RegExp(`^${name} is valid from 20\\d\\d-\\S+Z to 2\\d{3}-\\S+Z$`),
    );
  });
});
