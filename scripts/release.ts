// Makes a release: scripts/release --help; see docs/release.md.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { endedBy, PartError } from './parts/part.ts';
import { checkVersion, cutChangelog, notesOf, ReleaseError } from './changelog.ts';
import type { AgentImageOptions } from './image/agent-image.ts';
import { takeNode } from './image/node-archive.ts';
import type { ReleasedImage } from './image/release.ts';
import { architectures, furtherArchitectures } from './parts/agent-image.ts';

const top = resolve(import.meta.dirname, '..');

const usage = `usage: scripts/release VERSION [--base BASE] [--node FILE]...

Sets the version, cuts the changelog and commits both, then makes all files of the release in dist/release/VERSION. Where
the version is set already, makes the files again: the same, at the same commit. Nothing is pushed.

  --base BASE  what the images are built on, as for scripts/image.ts; debian unless given
  --node FILE  Node's own archive for ppc64le or s390x, for an image for it too
`;

const at = (path: string): string => join(top, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { cwd: top, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const node = (...args: readonly string[]): string => run(process.execPath, ...args);

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      base: { type: 'string', default: 'debian' },
      node: { type: 'string', multiple: true, default: [] },
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
  const without = new Set(furtherArchitectures);
  const nodes = values.node.map((file) => {
    const node = takeNode(file, [...without]);
    without.delete(node.architecture);
    return node;
  });
  if (currentVersion() !== version) prepare(version);
  const { base } = values;
  await makeFiles(version, [
    ...architectures.map((architecture) => ({ architecture, base })),
    // In one order, however they were given: it is part of the digest.
    ...nodes.sort((one, other) => (one.name < other.name ? -1 : 1)).map((node) => ({ node, base })),
  ]);
  if (without.size > 0)
    process.stdout.write(
      `\nNo image for ${[...without].join(' and ')}: --node gives their Node.\n`,
    );
}

const currentVersion = (): string =>
  (JSON.parse(read('package.json')) as { readonly version: string }).version;

/** Sets the version everywhere, cuts the changelog, and commits. */
function prepare(version: string): void {
  const from = currentVersion();
  const date = new Date().toISOString().slice(0, 10);
  const { changelog, notes } = cutChangelog(read('CHANGELOG.md'), version, date);
  checkVersion(from, version, notes);
  writeFileSync(at('CHANGELOG.md'), changelog);
  run('npm', 'version', '--no-git-tag-version', version);
  const source = 'src/model/version.ts';
  writeFileSync(at(source), read(source).replace(`'${from}'`, `'${version}'`));
  node('scripts/docs.ts');
  run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
}

/** Makes all that is published, of the commit that the tree is at, with its date. */
async function makeFiles(version: string, wanted: readonly AgentImageOptions[]): Promise<void> {
  const changes = notesOf(read('CHANGELOG.md'), version);
  const folder = at(`dist/release/${version}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.umask(0o022);
  node('scripts/build.ts');
  // Not before: it takes the version from the sources as they are when it is loaded.
  const { checkImages, releaseImages } = await import('./image/release.ts');
  const images = await releaseImages(folder, { version, images: wanted });
  await checkImages({ version, images: wanted });
  const put = (name: string, content: string | Buffer): void => {
    writeFileSync(join(folder, name), content);
  };
  put('bootwright.1', read('docs/bootwright.1'));
  // The configurations name the schema to an editor.
  const paths = ['deploy', 'docs/configuration.schema.json', 'LICENSE'];
  const output = `--output=${join(folder, `bootwright-${version}-deploy.tar.gz`)}`;
  // gzip would write the time; git hands it what it packs by a pipe, so there is none.
  run('git', 'archive', output, `--prefix=bootwright-${version}/`, 'HEAD', ...paths);
  put('NOTES.md', `# Bootwright ${version}\n\n${images.map(imageLine).join('')}\n${changes}\n`);
  const names = readdirSync(folder).sort();
  put('SHA256SUMS', run('env', '--chdir', folder, 'sha256sum', ...names));
  process.stdout.write(
    `${names.map((name) => `dist/release/${version}/${name}\n`).join('')}\n${publishing(version)}`,
  );
}

const imageLine = ({ of, digest, megabytes }: ReleasedImage): string =>
  `- Image ${of}: \`${digest}\`, ${megabytes.join(' and ')} MB packed\n`;

const publishing = (version: string): string => `To publish, after docs/release.md:
  git push origin HEAD
  git tag --sign v${version} --message "Bootwright ${version}" && git push origin v${version}
  skopeo copy --all --preserve-digests oci-archive:dist/release/${version}/bootwright-${version}.oci.tar docker://REGISTRY/bootwright:${version}
`;

await endedBy(main(process.argv.slice(2)), PartError, ReleaseError);
