// Makes a release: scripts/release --help; see docs/release.md.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** A release that cannot be made. The message gives the reason and the fix. */
class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

const top = resolve(import.meta.dirname, '..');

const usage = `usage: scripts/release VERSION [--base BASE] [--platform LIST]

Sets the version, cuts the changelog and commits both, then makes all files of the release in dist/release/VERSION. Where
the version is set already, makes the files again: the same, at the same commit and with the same base. Nothing is pushed.

  --base BASE      what the images are built upon: docs/image.md
  --platform LIST  linux/amd64,linux/arm64 unless given; ppc64le and s390x are not tested
`;

/** The most bytes of a compressed image, for each architecture. */
const mostPackedBytes = 60e6;

const at = (path: string): string => join(top, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { cwd: top, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const node = (...args: readonly string[]): string => run(process.execPath, ...args);

function main(args: string[]): void {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      base: { type: 'string' },
      platform: { type: 'string', default: 'linux/amd64,linux/arm64' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [version, ...more] = positionals;
  if (values.help || version === undefined || more.length > 0) {
    process[values.help ? 'stdout' : 'stderr'].write(usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  if (run('git', 'status', '--porcelain') !== '')
    throw new ReleaseError('the tree has changes that no commit has; commit or remove them');
  if (currentVersion() !== version) prepare(version);
  const base = values.base === undefined ? [] : ['--build-arg', `BASE=${values.base}`];
  makeFiles(version, values.platform.split(','), base);
}

const currentVersion = (): string =>
  (JSON.parse(read('package.json')) as { readonly version: string }).version;

/** Sets the version everywhere, cuts the changelog, and commits. */
function prepare(version: string): void {
  const from = currentVersion();
  if (!/^\d+\.\d+\.\d+$/.test(version) || !isAfter(version, from))
    throw new ReleaseError(`${version} does not come after ${from}; name a newer version`);
  const changelog = read('CHANGELOG.md');
  if (!/^- /m.test(sectionOf(changelog, '## Unreleased')))
    throw new ReleaseError('CHANGELOG.md has nothing that is unreleased');
  const cut = `## Unreleased\n\n## [${version}] - ${new Date().toISOString().slice(0, 10)}`;
  writeFileSync(at('CHANGELOG.md'), changelog.replace(/^## Unreleased$/m, cut));
  run('npm', 'version', '--no-git-tag-version', version);
  const source = 'src/model/version.ts';
  writeFileSync(at(source), read(source).replace(`'${from}'`, `'${version}'`));
  node('scripts/docs.ts');
  run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
}

const isAfter = (one: string, other: string): boolean =>
  one.localeCompare(other, 'en', { numeric: true }) > 0;

/** The section of a changelog below a second-level heading, given by its start. */
function sectionOf(changelog: string, heading: string): string {
  const [found = ''] = changelog.split(/^(?=## )/m).filter((part) => part.startsWith(heading));
  return found.split('\n').slice(1).join('\n').trim();
}

/** Makes all that is published, of the commit that the tree is at, with its date. */
function makeFiles(version: string, platforms: readonly string[], base: readonly string[]): void {
  const changes = sectionOf(read('CHANGELOG.md'), `## [${version}]`);
  const folder = at(`dist/release/${version}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.umask(0o022);
  node('scripts/build.ts');
  const image = `localhost/bootwright:${version}`;
  for (const platform of platforms)
    run('scripts/image', '--platform', platform, ...base, '--tag', nameOf(image, platform));
  const packed = archive(join(folder, `bootwright-${version}.oci.tar`), image, platforms);
  const put = (name: string, content: string | Buffer): void => {
    writeFileSync(join(folder, name), content);
  };
  put(`bootwright-${version}.cdx.json`, read('dist/bootwright.cdx.json'));
  // The configurations name the schema to an editor.
  const paths = ['deploy', 'docs/configuration.schema.json', 'LICENSE'];
  const output = `--output=${join(folder, `bootwright-${version}-deploy.tar.gz`)}`;
  // gzip would store a time; git pipes its input, so it stores no time.
  run('git', 'archive', output, `--prefix=bootwright-${version}/`, 'HEAD', ...paths);
  put('NOTES.md', `# Bootwright ${version}\n\n- Image: ${packed}\n\n${changes}\n`);
  const names = readdirSync(folder).sort();
  put('SHA256SUMS', run('env', '--chdir', folder, 'sha256sum', ...names));
  process.stdout.write(
    `${names.map((name) => `dist/release/${version}/${name}\n`).join('')}\n${publishing(version)}`,
  );
}

const nameOf = (image: string, platform: string): string => `${image}-${basename(platform)}`;

/** A manifest or an index (opencontainers/image-spec). */
interface Manifest {
  readonly manifests?: readonly { readonly digest: string }[];
  readonly layers?: readonly { readonly size: number }[];
}

/**
 * Writes the images behind one index as an OCI archive and describes it. The same images give
 * the same file.
 * @throws ReleaseError for an image that is too large
 */
function archive(file: string, image: string, platforms: readonly string[]): string {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-archive-'));
  // A release that was stopped has left its own.
  if (spawnSync('podman', ['manifest', 'exists', image]).status === 0)
    run('podman', 'manifest', 'rm', image);
  run('podman', 'manifest', 'create', image);
  try {
    for (const one of platforms)
      run('podman', 'manifest', 'add', image, `containers-storage:${nameOf(image, one)}`);
    run(
      'podman',
      'manifest',
      'push',
      '--all',
      '--format=oci',
      image,
      `oci:${folder.path}:${image}`,
    );
  } finally {
    run('podman', 'manifest', 'rm', image);
  }
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rwX,go=rX', '--mtime=@0'];
  run('tar', '--create', '--file', file, '--directory', folder.path, '--sort=name', ...owner, '.');
  const manifestAt = (path: string): Manifest =>
    JSON.parse(readFileSync(join(folder.path, path), 'utf8')) as Manifest;
  const blob = (digest: string): Manifest => manifestAt(`blobs/${digest.replace(':', '/')}`);
  const digest = manifestAt('index.json').manifests?.[0]?.digest ?? '';
  const sizes = (blob(digest).manifests ?? []).map((one) =>
    (blob(one.digest).layers ?? []).reduce((sum, { size }) => sum + size, 0),
  );
  const words = sizes.map(
    (size, index) => `${platforms[index] ?? ''} ${(size / 1e6).toFixed(1)} MB`,
  );
  if (sizes.some((size) => size > mostPackedBytes))
    throw new ReleaseError(`the image has packed ${words.join(', ')}; 60 MB are allowed`);
  return `\`${digest}\`, packed ${words.join(', ')}`;
}

const publishing = (version: string): string => `To publish, after docs/release.md:
  git push origin HEAD
  git tag --sign v${version} --message "Bootwright ${version}" && git push origin v${version}
  skopeo copy --all --preserve-digests oci-archive:dist/release/${version}/bootwright-${version}.oci.tar docker://REGISTRY/bootwright:${version}
`;

try {
  main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
