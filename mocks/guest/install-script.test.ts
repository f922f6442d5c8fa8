import { describe, expect, it } from 'vitest';
import { placeFile, quoted } from './install-script.ts';

describe('a word of Bash', () => {
  it.each([
    ['/etc/hostname', "'/etc/hostname'"],
    ['$(reboot) `reboot`', "'$(reboot) `reboot`'"],
    ["it's", "'it'\\''s'"],
  ])('of %s is %s', (text, word) => {
    expect(quoted(text)).toBe(word);
  });
});

describe('a file in a guest', () => {
  it('comes with its bytes, its mode and the folders on the way', () => {
    expect(placeFile({ path: '/a/b c', mode: 0o600, content: 'x\n' })).toBe(
      "base64 --decode <<< 'eAo=' | install -D -m 0600 /dev/stdin '/a/b c'",
    );
  });
});
