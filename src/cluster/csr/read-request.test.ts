import { describe, expect, it } from 'vitest';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import {
  alternativeNames,
  Extension,
  pkcs10,
  type RequestWishes,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import { approved, nodeBootstrapper, readRequest } from './read-request.ts';

const conditions = (type: string) => ({ conditions: [{ type, status: 'True' }] });

describe('readRequest', () => {
  it('reads the claim of a client request for a node', async () => {
    const read = readRequest(signingRequestObject('client', await pkcs10()));
    expect(read).toMatchObject({ state: 'pending', cause: undefined });
    expect(read.claim).toMatchObject({ purpose: 'client', node: 'm0', addresses: [] });
  });

  it('drops labels and the other parts of the object that any client may set', async () => {
    const object = signingRequestObject('client', await pkcs10(), { name: 'csr' });
    const labels = { a: 'z'.repeat(1000) };
    const metadata = { ...object.metadata, uid: 'u', resourceVersion: '7', labels };
    const read = readRequest({ ...object, metadata });
    expect(Object.keys(read.metadata)).toEqual([
      ...['name', 'uid', 'resourceVersion', 'creationTimestamp'],
    ]);
    expect(JSON.stringify(read)).not.toMatch(/groups|extra|BEGIN|zzz/);
  });

  it.each<[string, 'client' | 'serving', string, boolean]>([
    ['approved', 'client', 'Approved', true],
    ['approved', 'serving', 'Approved', false],
    ['denied', 'client', 'Denied', false],
    ['denied', 'client', 'Failed', false],
    ['pending', 'client', 'Other', true],
  ])(
    'reads a request that is %s, for purpose %s (condition %s), with a claim: %j',
    async (...row) => {
      const [state, purpose, type, hasClaim] = row;
      const request = signingRequestObject(purpose, await pkcs10(), { status: conditions(type) });
      const read = readRequest(request);
      expect([read.state, read.claim !== undefined]).toEqual([state, hasClaim]);
      expect(read.cause).toBeUndefined();
    },
  );

  it.each<[string, object, string]>([
    ['another signer', { spec: { signerName: 'example.com/x' } }, 'signer'],
    ['another user', { spec: { username: 'system:node:m0' } }, 'requestor'],
    ['no request', { spec: { request: '' } }, 'unreadable'],
    ['a huge request', { spec: { request: 'LS0t'.repeat(10_000) } }, 'unreadable'],
    [
      'a user outside the node-bootstrapper group',
      { spec: { groups: ['system:authenticated'] } },
      'requestor',
    ],
    [
      'a group missing',
      { spec: { groups: [nodeBootstrapper.groups[0], 'system:authenticated'] } },
      'requestor',
    ],
    [
      'an additional group',
      { spec: { groups: [...nodeBootstrapper.groups, 'system:masters'] } },
      'requestor',
    ],
  ])('refuses a request with %s', async (_, wishes, cause) => {
    const read = readRequest(signingRequestObject('client', await pkcs10(), wishes));
    expect(read).toMatchObject({ cause, claim: undefined });
  });

  it.each<[string, 'client' | 'serving', RequestWishes, string]>([
    ['a user that is not a node', 'client', { subject: 'O=system:nodes, CN=admin' }, 'unreadable'],
    [
      'a node without a name',
      'client',
      { subject: 'O=system:nodes, CN=system:node:' },
      'unreadable',
    ],
    ['a DNS name', 'client', { names: alternativeNames('m0') }, 'names'],
    ['an IP address', 'client', { names: alternativeNames('192.0.2.7') }, 'names'],
    [
      'another node than the requestor',
      'serving',
      {
        subject: 'O=system:nodes, CN=system:node:m1',
        names: alternativeNames('m1', '192.0.2.7'),
      },
      'requestor',
    ],
    [
      'the DNS name of the API',
      'serving',
      { names: alternativeNames('api', '192.0.2.7') },
      'names',
    ],
    [
      'a DNS name that ends with the node name',
      'serving',
      { names: alternativeNames('xm0', '192.0.2.7') },
      'names',
    ],
    ['no address', 'serving', { names: alternativeNames('m0') }, 'names'],
    ['no alternative name', 'serving', {}, 'names'],
  ])('refuses a request for %s (%s)', async (...[, purpose, wishes, cause]) => {
    const read = readRequest(signingRequestObject(purpose, await pkcs10(wishes)));
    expect(read).toMatchObject({ cause, claim: undefined });
  });

  it.each<[string, (pem: string) => string]>([
    ['text before it', (pem) => `x${pem}`],
    ['text after it', (pem) => `${pem}x`],
    ['bits that base64 drops', (pem) => pem.replace('-----END', '=\n-----END')],
    ['a second request', (pem) => pem + pem],
    ['more than 21 KiB', (pem) => pem.padEnd(16_129)],
  ])('refuses a request with %s', async (_, change) => {
    const read = readRequest(signingRequestObject('client', change(await pkcs10())));
    expect(read).toMatchObject({ cause: 'unreadable', claim: undefined });
  });

  it('reads a request with blanks around it, of up to 21 KiB', async () => {
    const pem = ` \n${await pkcs10()}`.padEnd(16_128);
    expect(readRequest(signingRequestObject('client', pem)).claim).toMatchObject({ node: 'm0' });
  });

  it.each([1, 5, 17])('refuses an IP address of %i bytes', async (length) => {
    const value = Buffer.alloc(length, 1);
    const names = Buffer.concat([Buffer.from([0x30, length + 2, 0x87, length]), value]);
    const extensions = [new Extension('2.5.29.17', false, names)];
    const read = readRequest(signingRequestObject('serving', await pkcs10({ extensions })));
    expect(read).toMatchObject({ cause: 'unreadable', claim: undefined });
  });

  it('keeps the user of a serving request alone', async () => {
    const pem = await pkcs10();
    expect(readRequest(signingRequestObject('serving', pem)).servedUser).toBe('system:node:m0');
    expect(readRequest(signingRequestObject('client', pem)).servedUser).toBeUndefined();
    const spec = { username: 7 };
    expect(readRequest(signingRequestObject('serving', pem, { spec }))).toMatchObject({
      servedUser: undefined,
      cause: 'signer',
    });
  });

  it.each([
    [['m0', '192.0.2.7'], ['192.0.2.7']],
    [
      ['M0', '192.0.2.7', '2001:0db8:0::7'],
      ['192.0.2.7', '2001:db8::7'],
    ],
    [['192.0.2.8'], ['192.0.2.8']],
  ])('reads a serving request for %j with the addresses %j', async (names, addresses) => {
    const pem = await pkcs10({ names: alternativeNames(...names) });
    const { claim } = readRequest(signingRequestObject('serving', pem));
    expect(claim).toEqual({ purpose: 'serving', node: 'm0', addresses });
  });

  it.each(['client', 'serving'] as const)(
    'reads a forged request that is already approved (%s)',
    (purpose) => {
      const status = conditions('Approved');
      for (const pem of forgedBytes(purpose).wrong) {
        expect(readRequest(signingRequestObject(purpose, pem, { status })).state).toBe('approved');
      }
    },
  );

  it('reads a request as approved once approved() has added its condition', () => {
    const other = { type: 'Other', status: 'True', reason: 'x' };
    const status = { certificate: 'c', conditions: [other] };
    const before = signingRequestObject('client', 'pem', { status });
    const at = Date.UTC(2026, 10, 21, 9, 8, 7, 65);
    const why = { reason: 'Why', message: 'because' };
    const lastUpdateTime = '2026-11-21T09:08:07Z';
    const approval = { type: 'Approved', status: 'True', ...why, lastUpdateTime };
    const after = approved(before, { ...why, at });
    expect(after).toEqual({ ...before, status: { ...status, conditions: [other, approval] } });
    expect(readRequest(after).state).toBe('approved');
  });

  it.each<unknown>([undefined, null, 'text', [1], { conditions: 'x' }, { conditions: [null] }])(
    'refuses a request with the spec and status %j',
    (any) => {
      const read = readRequest({ metadata: { name: 'x', uid: 'u' }, spec: any, status: any });
      expect(read).toMatchObject({ state: 'pending', cause: 'signer' });
    },
  );
});
