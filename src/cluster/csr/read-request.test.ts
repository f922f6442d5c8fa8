import { describe, expect, it } from 'vitest';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import {
  alternativeNames,
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
