import { describe, expect, it } from 'vitest';
import { installedIn } from './apt-packages.ts';

describe('installedIn', () => {
  it.each([
    ['an installed package', 'zstd installed\n', ['zstd']],
    ['one that was removed and left its configuration', 'zstd config-files\n', []],
    ['one that dpkg has only heard of', 'zstd not-installed\n', []],
    ['one whose installation was broken off', 'zstd half-installed\n', []],
    ['several', 'gdisk installed\nzstd not-installed\nmtools installed\n', ['gdisk', 'mtools']],
    ['an empty listing', '', []],
  ])('%s', (_name, listing, names) => {
    expect([...installedIn(listing)]).toEqual(names);
  });
});
