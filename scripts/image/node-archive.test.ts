import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { architectures, furtherArchitectures, nodePackage } from '../parts/agent-image.ts';
import { PartError } from '../parts/part.ts';
import { archivesIn, nodeFor, publishedNodes, takeNode } from './node-archive.ts';

const folder = mkdtempSync(join(tmpdir(), 'bootwright-node-archive-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string): string => {
  const path = join(folder, name);
  writeFileSync(path, name);
  return path;
};
const sum = (text: string): string => createHash('sha256').update(text).digest('hex');
const names = ['node-v24.1.0-linux-s390x.tar.gz', 'node-v24.1.0-linux-ppc64le.tar.xz'] as const;
const known = archivesIn(names.map((name) => `${sum(name)}  ${name}\n`).join(''));

describe('the archives of Node that are known', () => {
  it('are of the version in package-lock.json, for each architecture in both forms', () => {
    const versions = new Set(architectures.map((one) => nodePackage(one).version));
    expect(publishedNodes.map(({ name }) => name)).toEqual(
      furtherArchitectures.flatMap((architecture) =>
        [...versions].flatMap((version) =>
          ['gz', 'xz'].map((form) => `node-v${version}-linux-${architecture}.tar.${form}`),
        ),
      ),
    );
  });
});

describe('takeNode', () => {
  it.each(names)('takes %s by its checksum, whatever its name', (name) => {
    const path = file(name);
    const architecture = name.includes('s390x') ? 's390x' : 'ppc64le';
    const found = { name, version: '24.1.0', architecture, sha256: sum(name), file: path };
    expect(takeNode(path, [architecture], known)).toEqual(found);
    expect(takeNode(path, undefined, known)).toEqual(found);
  });

  it.each([
    ['another file', file('node-v24.1.0-linux-s390x.tar.xz')],
    ['that of another architecture', file(names[1])],
    ['a file that is not there', join(folder, 'absent')],
    ['nothing', undefined],
  ])('refuses %s', (_, path) => {
    expect(() => takeNode(path, ['s390x'], known)).toThrow(path ?? 'by --node');
  });

  it('says what is wanted, and from where', () => {
    const error = `--node ${file('other')}: not one of the archives that are known, its sha256 is ${sum('other')}. Wanted is one of
  https://nodejs.org/dist/v24.1.0/${names[0]}
    sha256 ${sum(names[0])}`;
    expect(() => takeNode(file('other'), ['s390x'], known)).toThrow(new PartError(error));
  });
});

describe('nodeFor', () => {
  it('takes no file where Node is in package-lock.json', () => {
    expect(nodeFor('arm64', undefined)).toEqual({ architecture: 'arm64' });
    expect(() => nodeFor('arm64', 'any')).toThrow('Node for arm64 comes from package-lock.json');
  });

  it('refuses an architecture that the image is not made for', () => {
    expect(() => nodeFor('riscv64', undefined)).toThrow('made for amd64, arm64, ppc64le, s390x');
  });

  it('wants a file where Node is not in package-lock.json', () => {
    expect(() => nodeFor('s390x', undefined)).toThrow(
      /is not in package-lock\.json[^]*-s390x\.tar/,
    );
  });
});
