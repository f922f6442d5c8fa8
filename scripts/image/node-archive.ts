import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Architecture,
  architectures,
  type FurtherArchitecture,
  furtherArchitectures,
} from '../parts/agent-image.ts';
import { PartError } from '../parts/part.ts';

/** An archive of Node as its maker publishes it. */
export interface NodeArchive {
  /** Such as `node-v24.21.0-linux-s390x.tar.xz`; all in it is below a folder of that name. */
  readonly name: string;
  readonly version: string;
  readonly architecture: FurtherArchitecture;
  readonly sha256: string;
}

/** A file that has the checksum of an archive. */
export type GivenNode = NodeArchive & { readonly file: string };

/** Reads lines as sha256sum writes them, and as Node's maker publishes them; other lines are left out. */
export const archivesIn = (sums: string): readonly NodeArchive[] =>
  furtherArchitectures.flatMap((architecture) => {
    const line = `^([0-9a-f]{64})  (node-v([\\d.]+)-linux-${architecture}\\.tar\\.[gx]z)$`;
    return [...sums.matchAll(new RegExp(line, 'gm'))].map(
      ([, sha256 = '', name = '', version = '']) => ({ name, version, architecture, sha256 }),
    );
  });

/** What the image is made of where npm has no Node. */
export const publishedNodes = archivesIn(
  readFileSync(join(import.meta.dirname, '../../images/node.sha256'), 'utf8'),
);

/** Where an archive is published. */
export const addressOf = ({ version, name }: NodeArchive): string =>
  `https://nodejs.org/dist/v${version}/${name}`;

/**
 * What an image for an architecture has Node of: package-lock.json, or the file that `--node` gives.
 * @throws PartError that says what is wanted
 */
export function nodeFor(
  architecture: string,
  file: string | undefined,
): { readonly architecture: Architecture } | { readonly node: GivenNode } {
  const further = furtherArchitectures.find((one) => one === architecture);
  if (further !== undefined) return { node: takeNode(file, [further]) };
  const npm = architectures.find((one) => one === architecture);
  if (npm === undefined) {
    const all = [...architectures, ...furtherArchitectures].join(', ');
    throw new PartError(`--arch ${architecture}: the image is made for ${all}`);
  }
  if (file !== undefined)
    throw new PartError(`--node: Node for ${npm} comes from package-lock.json`);
  return { architecture: npm };
}

/**
 * Takes a file for the archive whose checksum it has.
 * @throws PartError that says what is wanted, where it has that of none for these architectures
 */
export function takeNode(
  file: string | undefined,
  wanted: readonly FurtherArchitecture[] = furtherArchitectures,
  published = publishedNodes,
): GivenNode {
  const archives = published.filter((one) => wanted.includes(one.architecture));
  const sha256 = file === undefined ? '' : sumOf(file);
  const found = archives.find((one) => one.sha256 === sha256);
  if (file !== undefined && found !== undefined) return { ...found, file };
  const what =
    file === undefined
      ? `Node for ${wanted.join(', ')} is not in package-lock.json: give its archive by --node`
      : `--node ${file}: not one of the archives that are known, its sha256 is ${sha256}`;
  const lines = archives.map((one) => `  ${addressOf(one)}\n    sha256 ${one.sha256}`);
  throw new PartError(`${what}. Wanted is one of\n${lines.join('\n')}`);
}

function sumOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    throw new PartError(`--node: ${(error as Error).message}`);
  }
}
