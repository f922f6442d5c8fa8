import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareRunRoot, storeIn } from './image-store.ts';

const deep = `/srv/${'d'.repeat(50)}`;

describe('storeIn', () => {
  it.each([
    ['/s', '/run/user/1', /^\/run\/user\/1\/bootwright\/[0-9a-f]{12}$/],
    ['/s', '', /^\/s\/run$/],
    [deep, '/run/user/1', /^\/run\/user\/1\/bootwright\/[0-9a-f]{12}$/],
    ['/s', `/run/${'u'.repeat(50)}`, /^\/s\/run$/],
    [deep, '', /\/bootwright-\d+-[0-9a-f]{12}$/],
  ])('puts the run root of %s where it is short enough: %s', (folder, session, expected) => {
    const environment = session === '' ? {} : { XDG_RUNTIME_DIR: session };
    const store = storeIn(folder, environment);
    expect(store.storage).toBe(folder);
    expect(store.run).toMatch(expected);
    expect(store.run.length).toBeLessThanOrEqual(50);
    expect(storeIn(folder, environment)).toEqual(store);
  });

  it('keeps the run roots of two stores apart', () => {
    const environment = { XDG_RUNTIME_DIR: '/run/user/1' };
    expect(storeIn('/a', environment).run).not.toBe(storeIn('/b', environment).run);
  });
});

describe('prepareRunRoot', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootwright-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('makes it for its owner alone, and takes it again', async () => {
    const run = join(folder, 's/run');
    await prepareRunRoot({ storage: folder, run });
    await prepareRunRoot({ storage: folder, run });
    expect(lstatSync(run).mode & 0o777).toBe(0o700);
  });

  it.each([
    [
      'a folder that others can write to',
      (run: string) => {
        mkdirSync(run);
        chmodSync(run, 0o777);
      },
    ],
    [
      'a link',
      (run: string) => {
        symlinkSync(folder, run);
      },
    ],
  ])('refuses %s', async (_, make) => {
    const run = join(folder, 'run');
    make(run);
    await expect(prepareRunRoot({ storage: folder, run })).rejects.toMatchObject({
      code: 'layering.store-taken',
    });
  });
});
