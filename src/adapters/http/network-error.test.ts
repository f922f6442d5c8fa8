import { describe, expect, it } from 'vitest';
import { errors } from 'undici';
import { networkErrorOf } from './network-error.ts';

const coded = (code: string, message = 'words', cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code });

const refusedTunnel = (status: number): Error =>
  new errors.RequestAbortedError(`Proxy response (${status}) !== 200 when HTTP Tunneling`);

describe('faults of the network', () => {
  it.each([
    ['a refused connection', coded('ECONNREFUSED'), 'passing', 'ECONNREFUSED'],
    ['a reset connection', coded('ECONNRESET'), 'passing', 'ECONNRESET'],
    ['no answer', new errors.HeadersTimeoutError(), 'passing', 'HEADERS_TIMEOUT'],
    ['no connection', new errors.ConnectTimeoutError(), 'passing', 'CONNECT_TIMEOUT'],
    ['a body that stalls', new errors.BodyTimeoutError(), 'passing', 'BODY_TIMEOUT'],
    ['a connection that the other side closed', new errors.SocketError(), 'passing', 'ECONNRESET'],
    ['an unknown name', coded('ENOTFOUND'), 'unresolved', 'ENOTFOUND'],
    ['a silent name service', coded('EAI_AGAIN'), 'passing', 'EAI_AGAIN'],
    [
      'a strange authority',
      coded('SELF_SIGNED_CERT_IN_CHAIN'),
      'untrusted',
      'SELF_SIGNED_CERT_IN_CHAIN',
    ],
    ['an old certificate', coded('CERT_HAS_EXPIRED'), 'untrusted', 'CERT_HAS_EXPIRED'],
    [
      'another name',
      coded('ERR_TLS_CERT_ALTNAME_INVALID'),
      'untrusted',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
    [
      'no TLS at all',
      coded('ERR_SSL_WRONG_VERSION_NUMBER'),
      'lasting',
      'ERR_SSL_WRONG_VERSION_NUMBER',
    ],
    [
      'a networkError inside another',
      coded('ERR_X', 'x', coded('ECONNREFUSED')),
      'passing',
      'ECONNREFUSED',
    ],
    [
      'several addresses, all refused',
      new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')]),
      'passing',
      'ECONNREFUSED',
    ],
    ['a proxy that is busy', refusedTunnel(503), 'passing', ''],
    ['a proxy that refuses', refusedTunnel(403), 'lasting', ''],
    ['what is no error', 'text', 'lasting', ''],
  ])('%s', (...[, error, kind, code]) => {
    expect(networkErrorOf(error)).toMatchObject({ kind, code });
  });

  // The messages of Node 24, verbatim.
  it.each([
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
      'its certificate is signed by a CA that this host does not know',
    ],
    [
      'HPE_HEADER_OVERFLOW',
      'Header overflow; raise it with --max-http-header-size',
      'Header overflow',
    ],
    ['CERT_HAS_EXPIRED', 'certificate has expired', 'certificate has expired'],
  ])('are in words, without advice of Node: %s', (code, message, words) => {
    expect(networkErrorOf(coded(code, message)).words).toBe(words);
  });
});
