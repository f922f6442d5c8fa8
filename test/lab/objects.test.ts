import { afterEach, describe, expect, it } from 'vitest';
import { type ObjectStore, startObjectStore } from '../../mocks/objects/server.ts';

let store: ObjectStore | undefined;
afterEach(async () => {
  await store?.close();
  store = undefined;
});

const signedBy = (key: string): Record<string, string> => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${key}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00`,
});

describe('the object store', () => {
  it('gives what was put, to anybody', async () => {
    store = await startObjectStore();
    store.put('bucket', 'cluster/master.ign', '{}');
    const answer = await fetch(`${store.url}/bucket/cluster/master.ign`);
    expect(await answer.text()).toBe('{}');
    expect(answer.headers.get('content-length')).toBe('2');
  });

  it('takes an object, and answers HEAD without a body', async () => {
    store = await startObjectStore();
    store.put('bucket', 'other', '');
    const url = `${store.url}/bucket/a/b`;
    expect((await fetch(url, { method: 'PUT', body: 'abc' })).status).toBe(200);
    const head = await fetch(url, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe('3');
    expect(await head.text()).toBe('');
  });

  it.each([
    { name: 'an object that is not there', path: '/bucket/x', code: 'NoSuchKey' },
    { name: 'a bucket that is not there', path: '/none/x', code: 'NoSuchBucket' },
  ])('answers $name as S3 does', async ({ path, code }) => {
    store = await startObjectStore();
    store.put('bucket', 'other', '');
    const answer = await fetch(`${store.url}${path}`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain(`<Code>${code}</Code>`);
  });

  it.each([
    { name: 'a known key', headers: signedBy('KEY'), status: 200 },
    { name: 'an unknown key', headers: signedBy('OTHER'), status: 403 },
    { name: 'no signature', headers: {}, status: 403 },
    { name: 'rubbish', headers: { authorization: 'Basic x' }, status: 400 },
  ])('answers $status to $name where a signature is asked for', async ({ headers, status }) => {
    store = await startObjectStore({ accessKeyIds: ['KEY'], allowsAnonymous: false });
    store.put('bucket', 'key', 'x');
    expect((await fetch(`${store.url}/bucket/key`, { headers })).status).toBe(status);
  });
});
