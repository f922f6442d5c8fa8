import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/adapters/clock.ts';
import { type ObjectsOptions, s3Objects } from '../../src/adapters/objects/s3.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Objects } from '../../src/ports/objects.ts';
import { type RealStore, startStore } from './versitygw.ts';

const ignition = '{"ignition":{"version":"3.2.0"}}';
const { signal } = new AbortController();
let store: RealStore;
beforeAll(async () => {
  store = await startStore({ 'ignition/C/master.ign': ignition });
});
afterAll(() => store[Symbol.asyncDispose]());

const objects = (credentials?: ObjectsOptions['credentials']): Objects =>
  s3Objects({
    endpoint: store.url,
    region: 'us-east-1',
    clock: systemClock,
    random: systemRandom,
    ...(credentials === undefined ? {} : { credentials }),
  });
const known = (): ObjectsOptions['credentials'] => ({
  accessKeyId: store.accessKeyId,
  secretAccessKey: new Secret(store.secretAccessKey),
});

describe('the S3 adapter against a real S3 server', () => {
  it('streams an object with its size', async () => {
    const { body, bytes } = await objects(known()).get('ignition', 'C/master.ign', signal);
    expect(bytes).toBe(ignition.length);
    await expect(text(body)).resolves.toBe(ignition);
  });

  it('reports a missing object', async () => {
    const asked = objects(known()).get('ignition', 'C/worker.ign', signal);
    await expect(asked).rejects.toMatchObject({ code: 'objects.not-found' });
  });

  it.each([
    ['a wrong secret', () => ({ ...known()!, secretAccessKey: new Secret('wrong') })],
    ['a request without credentials', () => undefined],
  ])('reports %s as denied', async (_, credentials) => {
    const asked = objects(credentials()).get('ignition', 'C/master.ign', signal);
    await expect(asked).rejects.toMatchObject({ code: 'objects.denied' });
  });
});
