import { describe, expect, it } from 'vitest';
import { errors } from 'undici';
import { networkErrorOf } from './network-error.ts';

const coded = (code: string, message = 'words', cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code });

const refusedTunnel = (status: number): Error =>
  new errors.RequestAbortedError(`Proxy response (${status}) !== 200 when HTTP Tunneling`);

describe('networkErrorOf', () => {
  it.each([
    ['passing', 'ECONNREFUSED'],
    ['passing', 'ECONNRESET'],
    ['passing', 'EADDRNOTAVAIL'],
    ['passing', 'EAI_AGAIN'],
    ['unresolved', 'ENOTFOUND'],
    ['untrusted', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['untrusted', 'CERT_HAS_EXPIRED'],
    ['untrusted', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['lasting', 'ERR_SSL_WRONG_VERSION_NUMBER'],
  ])('classifies as %s the code %s', (kind, code) => {
    expect(networkErrorOf(coded(code))).toMatchObject({ kind, code });
  });

  it.each([
    ['a timeout of the headers', new errors.HeadersTimeoutError(), 'passing', 'HEADERS_TIMEOUT'],
    ['a timeout of the connection', new errors.ConnectTimeoutError(), 'passing', 'CONNECT_TIMEOUT'],
    ['a body that stalls', new errors.BodyTimeoutError(), 'passing', 'BODY_TIMEOUT'],
    ['a connection closed by the peer', new errors.SocketError(), 'passing', 'ECONNRESET'],
    [
      'an error as the cause of another',
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
    ['a value that is not an error', 'text', 'lasting', ''],
  ])('classifies %s', (...[, error, kind, code]) => {
    expect(networkErrorOf(error)).toMatchObject({ kind, code });
  });

  // These are the messages of Node 24, verbatim.
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
  ])('describes %s without the advice of Node', (code, message, words) => {
    expect(networkErrorOf(coded(code, message)).words).toBe(words);
  });
});
