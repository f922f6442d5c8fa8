import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Architecture, nodeFolder, nodePackage } from '../parts/agent-image.ts';
import { PartError } from '../parts/part.ts';
import type { GivenNode } from './node-archive.ts';
import { type Bom, imageSbom } from './sbom.ts';

const top = resolve(import.meta.dirname, '../..');
const dist = join(top, 'dist');

/** Where an image has its bill of materials; scanners find it by the end of its name. */
export const sbomPath = 'usr/share/sbom/bootwright.cdx.json';

/** What an image is for, Node where it is given, and the root of the image that it is built upon. */
interface Ground {
  readonly architecture: Architecture;
  readonly node: GivenNode | undefined;
  readonly base: string;
}

/** Lays out what the agent's image has above its base, for the `Containerfile`. The bundle must be in `dist`. */
export async function layOut(folder: string, ground: Ground): Promise<void> {
  const { architecture, node: given, base } = ground;
  const place = (to: string): string => {
    mkdirSync(join(folder, dirname(to)), { recursive: true });
    return join(folder, to);
  };
  // Modes are ours and not those of the machine that builds: they are part of the digest.
  const put = (from: string, to: string, mode = 0o644): void => {
    copyFileSync(from, place(to));
    chmodSync(join(folder, to), mode);
  };
  const node =
    given === undefined
      ? await nodeFolder(architecture)
      : unpack(given, { into: join(folder, 'node'), base });
  put(join(node, 'bin', 'node'), 'usr/bin/node', 0o755);
  put(join(node, 'LICENSE'), 'usr/share/licenses/node/LICENSE');
  put(join(top, 'LICENSE'), 'usr/share/licenses/bootwright/LICENSE');
  put(join(dist, 'licences.txt'), 'usr/share/licenses/bootwright/licences.txt');
  for (const name of readdirSync(dist).filter((one) => /\.(mjs|map)$/.test(one)))
    put(join(dist, name), `usr/lib/bootwright/${name}`, name === 'bootwright.mjs' ? 0o755 : 0o644);
  // Node takes a file for a module by its name, so the path that the discovery agent's contract has is a link.
  symlinkSync('../lib/bootwright/bootwright.mjs', place('usr/bin/installer'));
  symlinkSync('installer', place('usr/bin/bootwright'));
  const bundle = JSON.parse(readFileSync(join(dist, 'bootwright.cdx.json'), 'utf8')) as Bom;
  const sbom = imageSbom(bundle, given ?? nodePackage(architecture), packagesOf(base));
  writeFileSync(place(sbomPath), `${JSON.stringify(sbom, null, 2)}\n`, { mode: 0o644 });
}

/** Unpacks what the image has of an archive, and gives the folder. */
function unpack(
  { file, name }: GivenNode,
  { into, base }: Record<'into' | 'base', string>,
): string {
  mkdirSync(into);
  const stem = name.replace(/\.tar\..*$/, '');
  const what = ['--strip-components=1', `${stem}/bin/node`, `${stem}/LICENSE`];
  execFileSync('tar', ['--extract', '--file', file, '--directory', into, ...what]);
  // choose.sh takes what the Node in package-lock.json names. Another may name more, as 12.11 for ppc64le did (nodejs/node#29718).
  const headers = execFileSync('readelf', ['-dW', join(into, 'bin/node')]).toString();
  const lacking = [...headers.matchAll(/\(NEEDED\).*\[(.+)\]/g)]
    .map(([, library = '']) => library)
    .filter((one) => globSync(`{,usr/}lib{,64}{,/*}/${one}`, { cwd: base }).length === 0);
  if (lacking.length > 0)
    throw new PartError(`${name} needs what the base has not: ${lacking.join(', ')}`);
  return into;
}

/** The packages of a base that was made here; what is in another one is not known. */
function packagesOf(base: string): readonly string[] {
  const list = join(base, 'usr/share/sbom/base.txt');
  return existsSync(list) ? (readFileSync(list, 'utf8').match(/.+/g) ?? []) : [];
}
