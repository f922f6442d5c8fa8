// The image for architectures that npm has no Node 24 for: made of an older Node and a later Debian, and started by an emulator.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { afterAll, assert, beforeAll, describe, expect, it } from 'vitest';
import { ensureBundle } from '../../scripts/bundle.ts';
import {
  type AgentImageOptions,
  buildAgentImage,
  openContainerStore,
  withImageRoot,
} from '../../scripts/image/agent-image.ts';
import { archivesIn, type GivenNode, takeNode } from '../../scripts/image/node-archive.ts';
import {
  checkImages,
  type ReleasedImage,
  releaseImages,
  startPrograms,
} from '../../scripts/image/release.ts';
import type { Bom } from '../../scripts/image/sbom.ts';
import { type FurtherArchitecture, furtherArchitectures } from '../../scripts/parts/agent-image.ts';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { furtherImages } from '../../scripts/parts/scripted.ts';

const top = join(import.meta.dirname, '../..');
const store = openContainerStore();
const folder = mkdtempSync(join(tmpdir(), 'bootwright-further-test-'));
const version = '0.0.0-further';
const imageOf = (architecture: string): string => `localhost/bootwright:${version}-${architecture}`;

const bases: string[] = [];
let nodes: readonly GivenNode[];
let released: readonly ReleasedImage[];

/** Makes a base as scripts/image.ts does, and gives its name. */
async function addBase(
  architecture: FurtherArchitecture,
  { tar, without }: { readonly tar: string; readonly without?: string },
): Promise<string> {
  const context = mkdtempSync(join(folder, 'base-'));
  const root = join(context, 'root.tar');
  copyFileSync(tar, root);
  if (without !== undefined) execFileSync('tar', ['--delete', '--file', root, without]);
  const name = `localhost/bootwright-test:base-${architecture}${without === undefined ? '' : '-less'}`;
  const named = ['--arch', architecture, '--tag', name];
  const file = ['--file', join(top, 'images/base/debian.Containerfile')];
  await store.run('buildah', 'build', ...named, ...file, context);
  bases.push(name);
  return name;
}

beforeAll(async () => {
  await ensureBundle(() => undefined);
  const part = await ensurePart(furtherImages);
  const files = globSync('node-*', { cwd: part }).toSorted();
  const sums = files.map((file) => {
    const bytes = readFileSync(join(part, file));
    return `${createHash('sha256').update(bytes).digest('hex')}  ${file}\n`;
  });
  nodes = files.map((file) => takeNode(join(part, file), undefined, archivesIn(sums.join(''))));
  const images: AgentImageOptions[] = [];
  for (const node of nodes) {
    const tar = join(part, `${node.architecture}.tar`);
    images.push({ node, base: await addBase(node.architecture, { tar }) });
  }
  released = await releaseImages(folder, { version, images });
});

afterAll(async () => {
  const images = [...furtherArchitectures.map(imageOf), ...bases];
  await store.run('podman', 'rmi', '--force', ...images);
  rmSync(folder, { recursive: true });
});

describe.each(furtherArchitectures)('the image for %s', (architecture: FurtherArchitecture) => {
  it('has nothing but what is used inside, and one loader', async () => {
    const files = await withImageRoot(store, imageOf(architecture), (root) => {
      const found = execFileSync('find', [root, '!', '-type', 'd', '-printf', '%P\n']).toString();
      return Promise.resolve(found.trim().split('\n'));
    });
    const others = files.filter(
      (path) => !/^usr\/(?:lib\/bootwright|share\/doc|share\/licenses)\//.test(path),
    );
    expect(others.map((path) => basename(path)).toSorted()).toEqual(
      [
        ...['bin', 'lib', 'sbin', ...(architecture === 'ppc64le' ? ['lib64'] : [])],
        architecture === 'ppc64le' ? 'ld64.so.2' : 'ld64.so.1',
        ...['bootwright', 'env', 'installer', 'logger', 'node', 'nsenter'],
        ...['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpcre2-8.so.0'],
        ...['libpthread.so.0', 'libselinux.so.1', 'libstdc++.so.6', 'libsystemd.so.0'],
        ...['ca-certificates.crt', 'group', 'nsswitch.conf', 'passwd', 'os-release', 'os-release'],
        ...['base.txt', 'bootwright.cdx.json'],
      ].toSorted(),
    );
  });

  it('starts, down to the program, which says that this Node is too old for it', async () => {
    expect(await startPrograms(store, imageOf(architecture), architecture)).toEqual({
      node: architecture === 's390x' ? '0 v20.11.0 s390x BE' : '0 v20.11.0 ppc64 LE',
      bootwright: expect.stringMatching(/^3 failed: cli\.old-node: /) as string,
      nsenter: expect.stringMatching(/^0 nsenter from util-linux/) as string,
      logger: expect.stringMatching(/^0 logger from util-linux/) as string,
      env: expect.stringMatching(/^0 env \(GNU coreutils\)/) as string,
    });
  });

  it('is refused by the check of a release, which names what does not start', async () => {
    const images = [{ architecture }];
    await expect(checkImages({ version, images })).rejects.toThrow(
      `the image for ${architecture} does not start: bootwright ends with 3 failed: cli.old-node: `,
    );
  });

  it('lists the archive that its Node is from', async () => {
    const text = readFileSync(
      join(folder, `bootwright-${version}-${architecture}.cdx.json`),
      'utf8',
    );
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull();
    const { components } = JSON.parse(text) as Bom;
    const { name, sha256 } = nodes.find((one) => one.architecture === architecture) ?? {};
    expect(components.find((one) => one.name === 'node')).toMatchObject({
      purl: `pkg:generic/node@20.11.0?download_url=https://nodejs.org/dist/v20.11.0/${String(name)}`,
      hashes: [{ alg: 'SHA-256', content: sha256 }],
    });
    expect(components.map((one) => one.name)).toEqual(expect.arrayContaining(['libc6', 'yaml']));
  });
});

it('is behind one index with the others', () => {
  const [all, ...each] = released;
  expect(each.map(({ of }) => of)).toEqual(['for ppc64le', 'for s390x']);
  expect(all).toMatchObject({ of: 'for ppc64le, s390x' });
  const file = join(folder, `bootwright-${version}.oci.tar`);
  const index = execFileSync('skopeo', ['inspect', '--raw', `oci-archive:${file}`]).toString();
  expect(JSON.parse(index)).toMatchObject({
    manifests: furtherArchitectures.map((architecture) => ({ platform: { architecture } })),
  });
});

it('is not made on a base without a library that Node needs', async () => {
  const node = nodes.find((one) => one.architecture === 's390x');
  assert(node);
  const tar = join(await ensurePart(furtherImages), 's390x.tar');
  const without = './usr/lib/s390x-linux-gnu/libstdc++.so.6';
  const base = await addBase('s390x', { tar, without });
  const name = imageOf('none');
  await expect(buildAgentImage(store, { name, node, base })).rejects.toThrow(
    'node-v20.11.0-linux-s390x.tar.xz needs what the base has not: libstdc++.so.6',
  );
  await expect(store.run('podman', 'image', 'inspect', name)).rejects.toThrow('image not known');
});
