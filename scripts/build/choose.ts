// Lays out the root of the agent's image, in its build alone: node choose.ts BASE OUT. See the
// Containerfile.
import {
  chmodSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { needsOf } from './elf.ts';

const top = resolve(import.meta.dirname, '../..');
const [base = '', out = ''] = process.argv.slice(2);

/** Creates the folder of a path of the image, and gives where it is now. */
function place(path: string): string {
  mkdirSync(join(out, dirname(path)), { recursive: true });
  return join(out, path);
}

/** Modes are ours and not those of the machine that builds: they are part of the digest. */
function write(path: string, content: string | Buffer, mode = 0o644): void {
  writeFileSync(place(path), content);
  chmodSync(join(out, path), mode);
}

/** Files that are taken from the base, by their path there. */
const taken = new Set<string>();

/**
 * Copies a file of the base; for a symlink its target, so that no link leads out of the chosen
 * files.
 */
function take(path: string): Buffer {
  const from = realpathSync(join(base, path));
  const content = readFileSync(from);
  taken.add(`/${relative(base, from)}`);
  write(path, content, (lstatSync(from).mode & 0o111) === 0 ? 0o644 : 0o755);
  return content;
}

/** Takes the first of some places in the base where a file is. */
function takeFirst(name: string, ...places: readonly string[]): Buffer | undefined {
  const path = globSync(
    places.map((one) => join(one, name)),
    { cwd: base },
  ).toSorted()[0];
  if (path === undefined) throw new Error(`the base has no ${name} in ${places.join(', ')}`);
  return existsSync(join(out, path)) ? undefined : take(path);
}

/** Takes a program or a library with all that it is linked with. */
function takeLinked(content: Buffer | undefined): void {
  if (content === undefined) return;
  const { loader, libraries } = needsOf(content);
  if (loader !== undefined && !existsSync(join(out, loader))) take(loader);
  for (const name of libraries)
    // A library names the loader too; programs name it by its path.
    if (!name.startsWith('ld')) takeLinked(takeFirst(name, 'usr/lib64', 'usr/lib/*', 'usr/lib'));
}

/** Takes a program. Where coreutils are one, `env` is a script of one line that names it. */
function takeProgram(name: string): void {
  const content = takeFirst(name, 'usr/local/bin', 'usr/bin');
  const [, interpreter] =
    /^#! *\/usr\/bin\/(\S+)/.exec(content?.toString('latin1', 0, 80) ?? '') ?? [];
  if (interpreter === undefined) takeLinked(content);
  else takeProgram(interpreter);
}

/**
 * The packages that files were taken of, as scanners look for them where there is no package
 * manager.
 */
function listPackages(): void {
  const paths = new Set([...taken].flatMap((path) => [path, path.replace(/^\/usr/, '')]));
  const status = join(base, 'var/lib/dpkg/status');
  const packages = existsSync(status) ? readFileSync(status, 'utf8').split('\n\n') : [];
  for (const text of packages) {
    const [, name = ''] = /^Package: (.+)$/m.exec(text) ?? [];
    const list = globSync(`var/lib/dpkg/info/${name}{,:*}.list`, { cwd: base })[0];
    if (name === '' || list === undefined) continue;
    const files = readFileSync(join(base, list), 'utf8').split('\n');
    if (!files.some((path) => paths.has(path))) continue;
    write(`var/lib/dpkg/status.d/${name}`, `${text}\n`);
    const copyright = join('usr/share/doc', name, 'copyright');
    if (existsSync(join(base, copyright))) write(copyright, readFileSync(join(base, copyright)));
  }
}

for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
  if (!lstatSync(join(base, name), { throwIfNoEntry: false })?.isSymbolicLink()) continue;
  symlinkSync(readlinkSync(join(base, name)), place(name));
  mkdirSync(join(out, 'usr', name), { recursive: true });
}
for (const name of ['node', 'nsenter', 'env', 'logger']) takeProgram(name);
take('usr/lib/os-release');
symlinkSync('../usr/lib/os-release', place('etc/os-release'));
write('etc/passwd', 'root:x:0:0:root:/root:/usr/sbin/nologin\n');
write('etc/group', 'root:x:0:\n');
write('etc/nsswitch.conf', 'hosts: files dns\n');
for (const name of ['dev', 'opt', 'proc', 'root', 'run', 'sys', 'tmp', 'var/log'])
  mkdirSync(join(out, name), { recursive: true });
chmodSync(join(out, 'tmp'), 0o1777);
listPackages();

for (const path of globSync('*.{mjs,map}', { cwd: join(top, 'dist') }))
  write(
    `usr/lib/bootwright/${path}`,
    readFileSync(join(top, 'dist', path)),
    path === 'bootwright.mjs' ? 0o755 : 0o644,
  );
// Node takes a file for a module by its name, so the path that the discovery agent's contract has
// is a link.
symlinkSync('../lib/bootwright/bootwright.mjs', place('usr/bin/installer'));
symlinkSync('installer', place('usr/bin/bootwright'));
write('usr/share/sbom/bootwright.cdx.json', readFileSync(join(top, 'dist/bootwright.cdx.json')));
write('usr/share/licenses/bootwright/LICENSE', readFileSync(join(top, 'LICENSE')));
write('usr/share/licenses/bootwright/licences.txt', readFileSync(join(top, 'dist/licences.txt')));
for (const path of globSync('usr/{local,share/licenses/node*}/LICENSE', { cwd: base }))
  write('usr/share/licenses/node/LICENSE', readFileSync(join(base, path)));
