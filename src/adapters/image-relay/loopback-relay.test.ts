import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { loopbackRelay } from './loopback-relay.ts';

const relay = loopbackRelay({ web: fakeWeb(), clock: fakeClock() });

describe('the address of the relay', () => {
  it.each([
    ['https://mirror.example/rhcos/metal.raw.gz?key=1', 'metal.raw.gz'],
    ['https://mirror.example', 'image.raw'],
  ])('is on the loopback interface and keeps the file name of %s', async (url, name) => {
    const { url: address, close } = await relay.serve(
      { url },
      { signal: new AbortController().signal },
    );
    expect(address).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/${name}$`));
    await close();
    await close();
  });

  it('is taken away when the run ends', async () => {
    const run = new AbortController();
    const { close, outcome } = await relay.serve(
      { url: 'https://a.example/b' },
      { signal: run.signal },
    );
    run.abort(new Error('over'));
    await close();
    expect(outcome().isAsked).toBe(false);
    await expect(
      relay.serve({ url: 'https://a.example/b' }, { signal: run.signal }),
    ).rejects.toThrow('over');
  });
});
