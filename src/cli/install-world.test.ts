import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { Config } from '../config/schema.ts';
import { openWorld } from './install-world.ts';

it('openWorld continues without its terminal', async () => {
  const root = mkdtempSync(join(tmpdir(), 'bootwright-world-'));
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const spy = vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as never);
  try {
    const config = Config.parse({ host: { root } });
    await using _ = await openWorld(config, { environment: {}, mask: (text) => text });
    const gone = Object.assign(new Error('write EIO'), { code: 'EIO' });
    expect(() => stdout.emit('error', gone)).not.toThrow();
    expect(process.exitCode).toBeUndefined();
  } finally {
    spy.mockRestore();
    rmSync(root, { recursive: true });
  }
});
