import { describe, expect, it } from 'vitest';
import { tarOf } from './tar.ts';

const text = (bytes: Uint8Array, from: number, length: number): string =>
  new TextDecoder().decode(bytes.subarray(from, from + length)).replace(/\0.*$/s, '');

const file = {
  name: 'assisted-installer-controller.logs',
  mode: 0o644,
  modifiedAt: Date.UTC(2026, 10, 21),
};

describe('a tar archive', () => {
  it.each([0, 1, 511, 512, 513, 5000])('holds %i bytes', (length) => {
    const content = new Uint8Array(length).fill(65);
    const archive = tarOf({ ...file, content });
    expect(archive.length % 512).toBe(0);
    expect(archive.length).toBe(512 + Math.ceil(length / 512) * 512 + 1024);
    expect(Number.parseInt(text(archive, 124, 12), 8)).toBe(length);
    expect(archive.subarray(512, 512 + length)).toEqual(content);
    expect(archive.subarray(512 + length).every((byte) => byte === 0)).toBe(true);
  });

  it('names the file with its mode and time', () => {
    const archive = tarOf({ ...file, content: new Uint8Array(3) });
    expect(text(archive, 0, 100)).toBe(file.name);
    expect(text(archive, 100, 8)).toBe('0000644');
    expect(Number.parseInt(text(archive, 136, 12), 8) * 1000).toBe(file.modifiedAt);
    expect(text(archive, 156, 1)).toBe('0');
    expect(text(archive, 257, 6)).toBe('ustar');
    expect(text(archive, 263, 2)).toBe('00');
  });

  it('carries the sum of its header', () => {
    const archive = tarOf({ ...file, content: new Uint8Array(3) });
    const header = archive.slice(0, 512);
    const told = Number.parseInt(text(header, 148, 6), 8);
    header.fill(32, 148, 156);
    expect(header.reduce((sum, byte) => sum + byte, 0)).toBe(told);
  });

  it('refuses a name that does not fit', () => {
    expect(() => tarOf({ ...file, name: 'x'.repeat(101), content: new Uint8Array() })).toThrow(
      RangeError,
    );
  });
});
