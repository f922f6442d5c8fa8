import { expect, it } from 'vitest';
import { serveHealth } from '../../src/adapters/status-server.ts';

it('serves /healthz, and /readyz once the program is ready', async () => {
  let isReady = false;
  const health = await serveHealth({ host: '127.0.0.1', port: 0 }, () => isReady);
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${health.url}${path}`)).status;
  try {
    expect(await Promise.all(['/healthz', '/readyz', '/else'].map(statusOf))).toEqual([
      ...[200, 503, 404],
    ]);
    isReady = true;
    expect(await statusOf('/readyz?verbose')).toBe(200);
    await expect(
      serveHealth({ host: '127.0.0.1', port: Number(new URL(health.url).port) }, () => true),
    ).rejects.toMatchObject({ code: 'serve.address-not-taken' });
  } finally {
    await health.close();
  }
});
