import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Architecture, nodeFolder } from '../parts/agent-image.ts';
import { type Bom, imageSbom } from './sbom.ts';

const top = resolve(import.meta.dirname, '../..');
const dist = join(top, 'dist');

/** Where an image has its bill of materials; scanners find it by the end of its name. */
export const sbomPath = 'usr/share/sbom/bootwright.cdx.json';

/** What an image is for, and the root of the one that it is built upon. */
interface Ground {
  readonly architecture: Architecture;
  readonly base: string;
}

/** Lays out what the agent's image has above its base, for the `Containerfile`. The bundle must be in `dist`. */
export async function layOut(folder: string, { architecture, base }: Ground): Promise<void> {
  const place = (to: string): string => {
    mkdirSync(join(folder, dirname(to)), { recursive: true });
    return join(folder, to);
  };
  // Modes are ours and not those of the machine that builds: they are part of the digest.
  const put = (from: string, to: string, mode = 0o644): void => {
    copyFileSync(from, place(to));
    chmodSync(join(folder, to), mode);
  };
  const node = await nodeFolder(architecture);
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
  const sbom = imageSbom(bundle, architecture, packagesOf(base));
  writeFileSync(place(sbomPath), `${JSON.stringify(sbom, null, 2)}\n`, { mode: 0o644 });
}

/** The packages of a base that was made here; what is in another one is not known. */
function packagesOf(base: string): readonly string[] {
  const list = join(base, 'usr/share/sbom/base.txt');
  if (!existsSync(list)) return [];
  return readFileSync(list, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}
