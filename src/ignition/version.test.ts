import { describe, expect, it } from 'vitest';

import { readSpec, readSpecVersion, specVersion } from './version.ts';

describe('the spec version', () => {
  it.each([
    ['3.5.0', { minor: 5, isNewer: false }],
    ['3.6.0', { minor: 5, isNewer: true }],
    ['3.10.0', { minor: 5, isNewer: true }],
  ])('%s is read as %j', (version, spec) => {
    expect(readSpec(version)).toEqual(spec);
  });

  it.each([0, 1, 2, 3, 4, 5])('3.%i.0 is read', (minor) => {
    expect(readSpecVersion(specVersion(minor))).toBe(minor);
  });

  it.each([
    ['2.2.0', 'ignition.spec-2'],
    ['2.4.0-experimental', 'ignition.spec-2'],
    ['1.0.0', 'ignition.spec-2'],
    ['3.6.0', 'ignition.version-unsupported'],
    ['3.10.0', 'ignition.version-unsupported'],
    ['4.0.0', 'ignition.version-unsupported'],
    ['3.2.1', 'ignition.version-unsupported'],
    ['3.5.0-experimental', 'ignition.version-unsupported'],
    ['3.6.0-experimental', 'ignition.version-unsupported'],
    ['3.2.0+build', 'ignition.version-unsupported'],
    ['3.2', 'ignition.no-version'],
    ['', 'ignition.no-version'],
    ['three', 'ignition.no-version'],
    [' 3.2.0', 'ignition.no-version'],
    [undefined, 'ignition.no-version'],
    [null, 'ignition.no-version'],
    [3, 'ignition.no-version'],
  ])('%j, to be written again, is refused as %s', (version, code) => {
    expect(() => readSpecVersion(version)).toThrow(expect.objectContaining({ code }));
  });
});
