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

describe('a request that is read', () => {
  it('is for a node', async () => {
    const read = readRequest(signingRequestObject('client', await pkcs10()));
    expect(read).toMatchObject({ state: 'pending', cause: undefined });
    expect(read.claim).toMatchObject({ purpose: 'client', node: 'm0', addresses: [] });
  });

  it('has nothing else of what anybody may write there', async () => {
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
  ])('that is %s, of purpose %s (%s), has a claim: %j', async (...row) => {
    const [state, purpose, type, hasClaim] = row;
    const request = signingRequestObject(purpose, await pkcs10(), { status: conditions(type) });
    const read = readRequest(request);
    expect([read.state, read.claim !== undefined]).toEqual([state, hasClaim]);
    expect(read.cause).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ['another signer', { spec: { signerName: 'example.com/x' } }, 'signer'],
    ['another user', { spec: { username: 'system:node:m0' } }, 'requestor'],
    ['no request', { spec: { request: '' } }, 'unreadable'],
    ['a huge one', { spec: { request: 'LS0t'.repeat(10_000) } }, 'unreadable'],
    ['no group of the bootstrapper', { spec: { groups: ['system:authenticated'] } }, 'requestor'],
    [
      'a further group',
      { spec: { groups: [...nodeBootstrapper.groups, 'system:masters'] } },
      'requestor',
    ],
  ])('with %s can never be approved', async (_, wishes, cause) => {
    const read = readRequest(signingRequestObject('client', await pkcs10(), wishes));
    expect(read).toMatchObject({ cause, claim: undefined });
  });

  it.each<[string, 'client' | 'serving', RequestWishes, string]>([
    ['a person', 'client', { subject: 'O=system:nodes, CN=admin' }, 'unreadable'],
    [
      'a node without a name',
      'client',
      { subject: 'O=system:nodes, CN=system:node:' },
      'unreadable',
    ],
    ['an alternative name', 'client', { names: alternativeNames('m0') }, 'names'],
    ['an alternative address', 'client', { names: alternativeNames('192.0.2.7') }, 'names'],
    [
      'another node that asks',
      'serving',
      {
        subject: 'O=system:nodes, CN=system:node:m1',
        names: alternativeNames('m1', '192.0.2.7'),
      },
      'requestor',
    ],
    ['the name of the API', 'serving', { names: alternativeNames('api', '192.0.2.7') }, 'names'],
    [
      'a name that ends like it',
      'serving',
      { names: alternativeNames('xm0', '192.0.2.7') },
      'names',
    ],
    ['no address', 'serving', { names: alternativeNames('m0') }, 'names'],
    ['nothing', 'serving', {}, 'names'],
  ])('for %s (%s) can never be approved', async (...[, purpose, wishes, cause]) => {
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
  ])('of a serving certificate with %j is for %j', async (names, addresses) => {
    const pem = await pkcs10({ names: alternativeNames(...names) });
    const { claim } = readRequest(signingRequestObject('serving', pem));
    expect(claim).toEqual({ purpose: 'serving', node: 'm0', addresses });
  });

  it.each(['client', 'serving'] as const)(
    'is read even if it is forged, and another has approved it (%s)',
    (purpose) => {
      const status = conditions('Approved');
      for (const pem of forgedBytes(purpose).wrong) {
        expect(readRequest(signingRequestObject(purpose, pem, { status })).state).toBe('approved');
      }
    },
  );

  it('is approved by one more condition, and nothing else is changed', () => {
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
    'may have any spec and status: %j',
    (any) => {
      const read = readRequest({ metadata: { name: 'x', uid: 'u' }, spec: any, status: any });
      expect(read).toMatchObject({ state: 'pending', cause: 'signer' });
    },
  );
});
