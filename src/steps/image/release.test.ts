import { describe, expect, it } from 'vitest';
import { compareLines, lineOfBuild, lineOfVersion, refuseOtherRelease } from './release.ts';

describe('the minor version of a release', () => {
  it.each([
    ['4.16.2', '4.16'],
    ['4.17', '4.17'],
    ['4.20.0-0.nightly-2026-01-01', '4.20'],
    ['9.6.20250523-0', undefined],
    ['latest', undefined],
    ['', undefined],
  ])('for version %j is %s', (version, line) => {
    expect(lineOfVersion(version)).toBe(line);
  });

  it.each([
    ['416.94.202410211619-0', '4.16'],
    ['49.84.202110081407-0', '4.9'],
    ['9.6.20250523-0', undefined],
    ['39.20240101.3.0', undefined],
    ['42.20250803.3.0', undefined],
    ['', undefined],
  ])('for build %j is %s', (build, line) => {
    expect(lineOfBuild(build)).toBe(line);
  });

  it('is compared numerically', () => {
    expect(compareLines('4.9', '4.16')).toBeLessThan(0);
    expect(compareLines('5.0', '4.22')).toBeGreaterThan(0);
  });
});

const digest = 'quay.example/ocp/node@sha256:1';
const inspected = (labels: Record<string, string>, architecture = 'amd64'): string =>
  JSON.stringify({ architecture, os: 'linux', config: { Labels: labels } });

describe('a node image for a cluster of 4.17', () => {
  const check = (image: string, text: string, line = '4.17') => {
    refuseOtherRelease(image, text, {
      architecture: 'x86_64',
      line: line === '' ? undefined : line,
    });
  };
  it.each([
    ['a build of 4.18', digest, inspected({ version: '418.94.202501010000-0' })],
    ['the OpenShift version 4.19', digest, inspected({ 'io.openshift.release': '4.19.0' })],
    ['the tag 4.16', 'registry.example:5000/node:v4.16.1@sha256:abc', ''],
  ])('is refused by %s', (_, image, text) => {
    expect(() => check(image, text)).toThrow(
      expect.objectContaining({ code: 'image.not-the-release', kind: 'input' }),
    );
  });

  it('is refused for another architecture', () => {
    expect(() => check(digest, inspected({}, 'arm64'))).toThrow(
      expect.objectContaining({ code: 'image.wrong-architecture', kind: 'input' }),
    );
  });

  it.each([
    ['has its minor version', digest, inspected({ version: '417.94.202501010000-0' }), '4.17'],
    ['has its tag', 'quay.example/ocp/node:4.17.2-x86_64', 'Error', '4.17'],
    ['reports a version of RHEL', digest, inspected({ version: '9.6.20250523-0' }), '4.17'],
    ['has no labels', 'registry.example:5000/node', inspected({}), '4.17'],
    ['is for a cluster without a version', digest, inspected({ version: '418.94.2-0' }), ''],
  ])('is accepted when it %s', (...[, image, text, line]) => {
    expect(() => check(image, text, line)).not.toThrow();
  });
});
