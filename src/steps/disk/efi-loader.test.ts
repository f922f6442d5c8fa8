import { describe, expect, it } from 'vitest';
import { shimPath } from './efi-loader.ts';

describe('shimPath', () => {
  it.each([
    [['BOOT', 'redhat'], 'x86_64', '\\EFI\\redhat\\shimx64.efi'],
    [['centos', 'redhat'], 'x86_64', '\\EFI\\redhat\\shimx64.efi'],
    [['BOOT', 'centos'], 'aarch64', '\\EFI\\centos\\shimaa64.efi'],
    [['fedora'], 'x86_64', '\\EFI\\fedora\\shimx64.efi'],
  ])('chooses from %j on %s', (directories, architecture, file) => {
    expect(shimPath(directories, architecture)).toBe(file);
  });

  it.each([[[]], [['BOOT']], [['']]])('knows no loader in %j', (directories) => {
    expect(() => shimPath(directories, 'x86_64')).toThrow(
      expect.objectContaining({ code: 'boot.no-loader' }),
    );
  });
});
