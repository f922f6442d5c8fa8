// What comes of a file that the inventory service sends.
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { seconds } from '../../src/model/duration.ts';
import { quickClock } from '../support/quick-clock.ts';
import { impatient } from './real/http-server.ts';
import { inventoryStand } from './real/inventory-stand.ts';

const { signal } = new AbortController();
const stand = inventoryStand();

describe('a download', () => {
  it('that is cut says so', async () => {
    stand.server.answering((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x'.repeat(40), () => response.socket?.destroy());
    });
    const { body, bytes } = await stand.v2().hostIgnition('worker', signal);
    expect(bytes).toBe(100);
    await expect(text(body)).rejects.toMatchObject({
      code: 'web.cut',
      context: { received: 40, bytes: 100 },
    });
  });

  it('that stalls says so', async () => {
    stand.server.answering((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x');
    });
    const inventory = stand.v2({ connection: impatient });
    const { body } = await inventory.hostIgnition('worker', signal);
    await expect(text(body)).rejects.toMatchObject({ code: 'web.cut', context: { received: 1 } });
  });

  it('stops with the reason of the signal', async () => {
    stand.server.answering((_, response) => {
      response.writeHead(200);
      response.write('x');
    });
    const controller = new AbortController();
    const { body } = await stand.v2().hostIgnition('worker', controller.signal);
    const reason = new Error('enough');
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    const next = chunks.next();
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
  });

  it('outlives the limit of the call that opened it', async () => {
    const clock = quickClock(200);
    const late = Promise.withResolvers<undefined>();
    stand.server.answering((_, response) => {
      response.write('first ');
      void late.promise.then(() => response.end('last'));
    });
    const inventory = stand.v2({ callLimit: seconds(10), clock });
    const { body } = await inventory.hostIgnition('worker', signal);
    await clock.sleep(seconds(20), signal);
    late.resolve(undefined);
    await expect(text(body)).resolves.toBe('first last');
  });
});
