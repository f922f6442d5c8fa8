// A real registry behind the mirrors of a host, and the real skopeo, which reads them like podman
// and rpm-ostree.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openContainerStore } from '../support/container-store.ts';
import { mirrorsPath, renderMirrors } from '../../src/settings/image-mirrors.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { type SecureRegistry, startSecureRegistry } from './lane/secure-registry.ts';

const run = promisify(execFile);
const source = 'quay.example.com/openshift-release-dev';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const config = '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}';
const manifest = JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    digest: `sha256:${digestOf(config)}`,
    size: config.length,
  },
  layers: [],
});

let folder: string;
let registry: SecureRegistry;
let environment: NodeJS.ProcessEnv;
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-mirrors-'));
  registry = await startSecureRegistry(at('registry'));
  // The result of update-ca-trust for a host's anchor.
  environment = { ...process.env, ...registry.access };
  mkdirSync(at('image'));
  writeFileSync(at('image/version'), 'Directory Transport Version: 1.1\n');
  writeFileSync(at('image/manifest.json'), manifest);
  writeFileSync(at(`image/${digestOf(config)}`), config);
  const target = `docker://${registry.address}/mirror/ocp:1`;
  await run('skopeo', ['copy', `dir:${at('image')}`, target], { env: environment });
});

afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** The config of an image in the registry. */
async function configOf(image: string): Promise<unknown> {
  const argv = ['inspect', '--config', `docker://${registry.address}/${image}`];
  return JSON.parse((await run('skopeo', argv, { env: environment })).stdout);
}

const conf = (mirror: string): string => renderMirrors([{ source, mirrors: [mirror] }]);

/** Reads a manifest on a machine with these registry files in place of its own. */
async function manifestAt(image: string, files: { readonly main: string; readonly own: string }) {
  const dropIns = mkdtempSync(at('conf-'));
  writeFileSync(join(dropIns, basename(mirrorsPath)), files.own);
  writeFileSync(at('registries.conf'), files.main);
  const script = [
    `mount --bind ${dropIns} /etc/containers/registries.conf.d`,
    `mount --bind ${at('registries.conf')} /etc/containers/registries.conf`,
    'exec "$@"',
  ].join(' && ');
  const skopeo = ['skopeo', 'inspect', '--raw', `docker://${image}`];
  const options = { env: environment, timeout: 600_000 };
  return (await run('unshare', ['-m', 'sh', '-c', script, 'sh', ...skopeo], options)).stdout;
}

describe('registries.mirrors and registries.ca', () => {
  const image = `${source}/ocp@sha256:${digestOf(manifest)}`;
  const dead = conf('127.0.0.1:1/mirror');
  const own = (): string => conf(`${registry.address}/mirror`);

  it('lead to a mirror with its own CA', async () => {
    expect(await manifestAt(image, { main: '', own: own() })).toBe(manifest);
  });

  it('take precedence over a cluster mirror of the same source', async () => {
    expect(await manifestAt(image, { main: dead, own: own() })).toBe(manifest);
    expect(await manifestAt(image, { main: own(), own: '' })).toBe(manifest);
    await expect(manifestAt(image, { main: own(), own: dead })).rejects.toThrow('127.0.0.1:1');
  });

  it('apply only to pulls by digest', async () => {
    await expect(manifestAt(`${source}/ocp:1`, { main: '', own: own() })).rejects.toThrow(
      'quay.example.com',
    );
  });
});

it('the commands of air-gapped.md copy an image to the registry of a site', async () => {
  const store = openContainerStore();
  const own = 'registry.example.com/bootwright:1';
  writeFileSync(at('Containerfile'), 'FROM scratch\nLABEL of=guide\n');
  await store.run('buildah', 'build', '--tag', own, '--file', at('Containerfile'), folder);
  try {
    const environmentOfGuide = { ...store.environment, ...registry.access };
    const instead = { 'mirror.site.test:8443': registry.address };
    await followGuide('air-gapped.md', environmentOfGuide, { suite: 'image', instead });
    expect(await configOf('bootwright:1')).toMatchObject({ config: { Labels: { of: 'guide' } } });
  } finally {
    await store.run('podman', 'untag', own, own);
  }
});
