import { describe, expect, it } from 'vitest';
import { Config } from '../../config/schema.ts';
import {
  compareLines,
  lineOfBuild,
  lineOfCluster,
  lineOfTag,
  lineOfVersion,
  readNodeImage,
  refuseOtherRelease,
  renderLine,
} from './release.ts';

const rendered = (line: ReturnType<typeof lineOfVersion>): string | undefined =>
  line === undefined ? undefined : renderLine(line);

describe('the line of a release', () => {
  it.each([
    ['4.16.2', '4.16'],
    ['4.17', '4.17'],
    ['4.18.0-rc.1', '4.18'],
    ['4.20.0-0.nightly-2026-01-01', '4.20'],
    ['latest', undefined],
    ['', undefined],
  ])('of the version %j is %s', (version, line) => {
    expect(rendered(lineOfVersion(version))).toBe(line);
  });

  it.each([
    ['416.94.202410211619-0', '4.16'],
    ['49.84.202110081407-0', '4.9'],
    ['9.6.20250523-0', undefined],
    ['39.20240101.3.0', undefined],
    ['', undefined],
  ])('of the build %j is %s', (build, line) => {
    expect(rendered(lineOfBuild(build))).toBe(line);
  });

  it.each([
    ['quay.example/ocp/node:4.16.2-x86_64', '4.16'],
    ['registry.example:5000/node:v4.17.1@sha256:abc', '4.17'],
    ['registry.example:5000/node', undefined],
    ['quay.example/node@sha256:4f', undefined],
  ])('in the tag of %s is %s', (pullSpec, line) => {
    expect(rendered(lineOfTag(pullSpec))).toBe(line);
  });

  it('is compared by number', () => {
    expect(compareLines({ major: 4, minor: 9 }, { major: 4, minor: 16 })).toBeLessThan(0);
  });

  it('of the cluster is unknown when nobody said it', () => {
    expect(lineOfCluster(Config.parse({}))).toBeUndefined();
    expect(lineOfCluster(Config.parse({ cluster: { openshiftVersion: '4.18.3' } }))).toEqual({
      major: 4,
      minor: 18,
    });
  });
});

const pullSpec = 'quay.example/ocp/node@sha256:1';
const inspected = (labels: Record<string, string>, architecture = 'amd64'): string =>
  JSON.stringify({ architecture, os: 'linux', config: { Labels: labels } });

describe('a node image', () => {
  it.each([
    ['a build of RHCOS', pullSpec, inspected({ version: '418.94.202501010000-0' }), '4.18'],
    ['a version of OpenShift', pullSpec, inspected({ 'io.openshift.release': '4.19.0' }), '4.19'],
    ['a version of RHEL', pullSpec, inspected({ version: '9.6.20250523-0' }), undefined],
    ['only its tag', 'quay.example/node:4.17.1', undefined, '4.17'],
    ['something unreadable', pullSpec, 'Error', undefined],
  ])('that tells %s is of the right line', (...[, spec, text, line]) => {
    expect(rendered(readNodeImage(spec, text).line)).toBe(line);
  });

  it.each([
    ['of another line', inspected({ version: '418.94.202501010000-0' }), 'image.not-the-release'],
    ['for another architecture', inspected({}, 'arm64'), 'image.wrong-architecture'],
  ])('%s is refused', (_, text, code) => {
    const host = { architecture: 'x86_64', line: { major: 4, minor: 17 } };
    expect(() => refuseOtherRelease(readNodeImage(pullSpec, text), host)).toThrow(
      expect.objectContaining({ code, kind: 'input' }),
    );
  });

  it.each([
    ['is of the line of the cluster', inspected({ version: '417.94.202501010000-0' }), 17],
    ['does not report its line', inspected({}), 17],
    ['comes when the cluster has none', inspected({ version: '418.94.2-0' }), undefined],
  ])('that %s is taken', (_, text, minor) => {
    const line = minor === undefined ? undefined : { major: 4, minor };
    expect(() =>
      refuseOtherRelease(readNodeImage(pullSpec, text), { architecture: 'x86_64', line }),
    ).not.toThrow();
  });
});
