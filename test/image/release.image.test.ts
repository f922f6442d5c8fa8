// The release script in a clone of the tree: its refusals, its results, and a reproducible second
// run.
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
import { revisionOf } from '../../scripts/build/source.ts';
import { openContainerStore, podmanWithBases } from '../support/container-store.ts';

const top = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bootwright-release-'));
const clone = join(folder, 'tree');
const version = '99.0.0';
const made = join(clone, 'dist/release', version);
const who = { NAME: 'A Tester', EMAIL: 'tester@example.com' };
const store = openContainerStore();
const env: NodeJS.ProcessEnv = {
  ...process.env,
  ...store.environment,
  GIT_AUTHOR_NAME: who.NAME,
  GIT_AUTHOR_EMAIL: who.EMAIL,
  GIT_COMMITTER_NAME: who.NAME,
  GIT_COMMITTER_EMAIL: who.EMAIL,
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

beforeAll(async () => {
  env['PATH'] = `${await podmanWithBases(store)}:${process.env['PATH'] ?? ''}`;
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
  it('refuses a dirty tree and a version that is not newer', () => {
    writeFileSync(join(clone, 'new'), '');
    expect(release(version)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'the tree has changes that no commit has; commit or remove them\n',
    });
    const revision = git('rev-parse', 'HEAD');
    expect(revisionOf(clone)).toBe(revision);
    rmSync(join(clone, 'new'));
    writeFileSync(join(clone, 'src/new'), '');
    expect(revisionOf(clone)).toBe('');
    rmSync(join(clone, 'src/new'));
    expect(release('0.0.1').stderr).toMatch(/^0\.0\.1 does not come after /);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('commits the version, and creates the same files when it is run again', () => {
    const { exitCode, stderr } = release(version);
    expect(exitCode, stderr).toBe(0);
    expect(git('log', '-1', '--format=%s')).toBe(`Release ${version}`);
    expect(git('show', 'HEAD:CHANGELOG.md')).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## \[99\.0\.0\] - \d{4}-\d\d-\d\d\n\n### Added\n\n- It\.$/,
    );
    const sums = fileOf('SHA256SUMS');
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: made });
    expect(readdirSync(made)).toHaveLength(sums.trim().split('\n').length + 1);

    // The state after an interrupted release.
    execFileSync('podman', ['manifest', 'create', `localhost/bootwright:${version}`], { env });
    // The state after an interrupted `podman save`.
    writeFileSync(join(clone, 'bootwright.tar'), '');
    expect(release(version)).toMatchObject({ exitCode: 0 });
    expect(fileOf('SHA256SUMS')).toBe(sums);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('creates images, SBOM, deploy archive, notes and checksums', () => {
    expect(readdirSync(made).sort()).toEqual(
      [
        ...['cdx.json', 'oci.tar'].map((end) => `bootwright-${version}.${end}`),
        `bootwright-${version}-deploy.tar.gz`,
        ...['NOTES.md', 'SHA256SUMS'],
      ].sort(),
    );
    const inspect = (...args: readonly string[]): string =>
      execFileSync('skopeo', [
        ...['inspect', ...args],
        `oci-archive:${join(made, `bootwright-${version}.oci.tar`)}`,
      ]).toString();
    expect(JSON.parse(inspect('--raw'))).toMatchObject({
      mediaType: 'application/vnd.oci.image.index.v1+json',
      manifests: ['amd64', 'arm64'].map((architecture) => ({
        platform: { architecture, os: 'linux' },
      })),
    });
    const { Digest, Labels } = JSON.parse(inspect()) as { Digest: string; Labels: object };
    expect(Labels).toMatchObject({
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
      'org.opencontainers.image.created': new Date(git('log', '-1', '--format=%cI'))
        .toISOString()
        .replace('.000Z', 'Z'),
    });
    expect(fileOf('NOTES.md')).toMatch(
      new RegExp(`^# Bootwright ${version}\n[^]*${Digest}[^]*amd64 [\\d.]+ MB[^]*- It\\.\n$`),
    );
  });
});
