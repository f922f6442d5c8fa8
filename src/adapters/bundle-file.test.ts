import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeBundle } from './bundle-file.ts';

describe('writeBundle', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootwright-bundle-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('does not overwrite an existing file', async () => {
    const path = join(folder, 'logs.tar.gz');
    writeFileSync(path, 'of another host');
    await expect(writeBundle(path, Buffer.from('x'))).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(path, 'utf8')).toBe('of another host');
  });

  it('makes the file readable for its owner only', async () => {
    const path = join(folder, 'logs.tar.gz');
    await writeBundle(path, Buffer.from('x'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});
