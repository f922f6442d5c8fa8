import { describe, expect, it } from 'vitest';
import { ask, ignitionPath, labInventory } from './lab-inventory.ts';

const started = labInventory();

describe('the faults of a server', () => {
  it('answer with an error for a number of times', async () => {
    const { url } = await started([{ kind: 'status', status: 503, times: 1 }]);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(503);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(200);
  });

  it('cut the connection inside a body', async () => {
    const { url } = await started([{ kind: 'cut', on: 'ignition', atPercent: 40, times: 1 }]);
    const answer = await ask(`${url}${ignitionPath}`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect((await ask(`${url}${ignitionPath}`)).ok).toBe(true);
  });

  it('refuse connections for a time', async () => {
    const { url, requests } = await started([{ kind: 'refuse', forSeconds: 0.5, times: 1 }]);
    await expect(ask(`${url}${ignitionPath}`)).rejects.toThrow();
    await expect(ask(`${url}${ignitionPath}`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
    await expect
      .poll(() =>
        ask(`${url}${ignitionPath}`).then(
          (a) => a.status,
          () => 0,
        ),
      )
      .toBe(200);
    expect(requests[0]).not.toHaveProperty('status');
  });

  it('never answer', async () => {
    const { url } = await started([{ kind: 'hang' }]);
    const signal = AbortSignal.timeout(300);
    await expect(ask(`${url}${ignitionPath}`, { signal })).rejects.toThrow();
  });

  it('hold an answer back', async () => {
    const { url } = await started([{ kind: 'slow', delaySeconds: 0.3 }]);
    const since = performance.now();
    await ask(`${url}${ignitionPath}`);
    expect(performance.now() - since).toBeGreaterThan(290);
  });
});
