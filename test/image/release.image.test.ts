// The release script in a clone of the tree: what it refuses, what it makes, and that a second run makes the same.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sourceOf } from '../../scripts/image/source.ts';

const top = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bootwright-release-'));
const clone = join(folder, 'tree');
const version = '99.0.0';
const made = join(clone, 'dist/release', version);
const who = { NAME: 'A Tester', EMAIL: 'tester@example.com' };
const env = {
  ...process.env,
  ...{ GIT_AUTHOR_NAME: who.NAME, GIT_AUTHOR_EMAIL: who.EMAIL },
  ...{ GIT_COMMITTER_NAME: who.NAME, GIT_COMMITTER_EMAIL: who.EMAIL },
};

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: clone, env, encoding: 'utf8' }).trim();

/** Runs the script as `scripts/release` does, without installing packages. */
const release = (...args: readonly string[]) => {
  const command = [join(clone, 'scripts/release.ts'), ...args];
  const run = spawnSync(process.execPath, command, { env, encoding: 'utf8' });
  return { exitCode: run.status, stdout: run.stdout, stderr: run.stderr };
};

const fileOf = (name: string): string => readFileSync(join(made, name), 'utf8');

beforeAll(() => {
  const changes = execFileSync('git', ['diff', '--binary', 'HEAD'], {
    cwd: top,
    maxBuffer: 64 * 1024 * 1024,
  });
  execFileSync('git', ['clone', '--quiet', top, clone]);
  appendFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
  symlinkSync(join(top, 'node_modules'), join(clone, 'node_modules'));
  if (changes.length > 0) execFileSync('git', ['apply', '--index'], { cwd: clone, input: changes });
  writeFileSync(
    join(clone, 'CHANGELOG.md'),
    '# Changelog\n\n## Unreleased\n\n### Added\n\n- It.\n',
  );
  git('commit', '--quiet', '--all', '--message', 'State of the tree');
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('scripts/release', () => {
  it('refuses a tree with changes, and a version that the changelog does not allow', () => {
    writeFileSync(join(clone, 'new'), '');
    expect(release(version)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'the tree has changes that no commit has; commit or remove them\n',
    });
    const revision = git('rev-parse', 'HEAD');
    expect(sourceOf(clone)).toMatchObject({ revision, date: git('log', '-1', '--format=%ct') });
    rmSync(join(clone, 'new'));
    writeFileSync(join(clone, 'src/new'), '');
    expect(sourceOf(clone)).not.toHaveProperty('revision');
    rmSync(join(clone, 'src/new'));
    expect(release('0.0.1').stderr).toMatch(/^0\.0\.1 does not come after /);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('refuses a Node that it does not know before it commits anything', () => {
    expect(release(version, '--node', join(clone, 'LICENSE'))).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/LICENSE: not one of .*\.[^]*-ppc64le\.[^]*-s390x\./) as string,
    });
    expect(git('log', '-1', '--format=%s')).toBe('State of the tree');
  });

  it('commits the version, and makes the same files when it is run again', () => {
    const { exitCode, stdout } = release(version);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^No image for ppc64le and s390x: /m);
    expect(git('log', '-1', '--format=%s')).toBe(`Release ${version}`);
    expect(git('show', 'HEAD:CHANGELOG.md')).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## \[99\.0\.0\] - \d{4}-\d\d-\d\d\n\n### Added\n\n- It\.$/,
    );
    const sums = fileOf('SHA256SUMS');
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: made });
    expect(readdirSync(made)).toHaveLength(sums.trim().split('\n').length + 1);

    // As `npm run image -- --archive bootwright.tar` leaves it.
    writeFileSync(join(clone, 'bootwright.tar'), '');
    expect(release(version)).toMatchObject({ exitCode: 0 });
    expect(fileOf('SHA256SUMS')).toBe(sums);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('makes images, their bills of materials, notes, the man page, completion and manifests', () => {
    expect(readdirSync(made).sort()).toEqual(
      [
        ...['amd64', 'arm64'].flatMap((name) =>
          ['cdx.json', 'oci.tar'].map((end) => `bootwright-${version}-${name}.${end}`),
        ),
        ...[`bootwright-${version}.oci.tar`, `bootwright-${version}-deploy.tar.gz`],
        ...['bootwright.1', '_bootwright', 'bootwright.bash', 'bootwright.fish'],
        ...['NOTES.md', 'SHA256SUMS'],
      ].sort(),
    );
    const archive = join(made, `bootwright-${version}-amd64.oci.tar`);
    const image = execFileSync('skopeo', ['inspect', `oci-archive:${archive}`], {
      encoding: 'utf8',
    });
    const { Digest, Labels } = JSON.parse(image) as { Digest: string; Labels: object };
    expect(Labels).toMatchObject({
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
      'org.opencontainers.image.created': new Date(git('log', '-1', '--format=%cI'))
        .toISOString()
        .replace('.000Z', 'Z'),
    });
    expect(fileOf('NOTES.md')).toMatch(
      new RegExp(`^# Bootwright ${version}\n[^]*${Digest}[^]*- It\\.\n$`),
    );
    expect(fileOf('bootwright.1')).toContain(`bootwright ${version}`);
  });
});
