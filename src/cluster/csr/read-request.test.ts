import { describe, expect, it } from 'vitest';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import { pkcs10, signingRequestObject } from '../../../test/support/kubelet-request.ts';
import { readRequest } from './read-request.ts';
import { nodeBootstrapper } from './verify.ts';

const conditions = (type: string) => ({ conditions: [{ type, status: 'True' }] });

describe('a request that is read', () => {
  it('is for a node and its key', async () => {
    const { username } = nodeBootstrapper;
    const read = readRequest(signingRequestObject('client', await pkcs10()));
    expect(read).toMatchObject({ state: 'pending', purpose: 'client', username, cause: undefined });
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

  it('is not read again', async () => {
    const read = readRequest(signingRequestObject('client', await pkcs10()));
    expect(readRequest(read)).toBe(read);
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
    ['other usages', { spec: { usages: ['client auth'] } }, 'usages'],
  ])('with %s can never be approved', async (_, wishes, cause) => {
    const read = readRequest(signingRequestObject('client', await pkcs10(), wishes));
    expect(read).toMatchObject({ cause, claim: undefined });
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

  it.each<unknown>([undefined, null, 'text', [1], { conditions: 'x' }, { conditions: [null] }])(
    'may have any spec and status: %j',
    (any) => {
      const read = readRequest({ metadata: { name: 'x', uid: 'u' }, spec: any, status: any });
      expect(read).toMatchObject({ state: 'pending', cause: 'signer' });
    },
  );
});
