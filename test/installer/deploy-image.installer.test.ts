import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { imageRegistry, liveRoot, osImage } from '../../scripts/parts/scripted.ts';
import { stagingFiles, stagingPlaces } from '../../src/layering/registry/staging-registry.ts';
import { readServedConfig } from '../../src/layering/manifests/served-config.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { workerFiles } from '../../src/steps/layering/find-worker-image.ts';
import { overlayWorkerConfig, deployOwn } from '../../src/steps/layering/deploy-image.ts';
import { stopRegistry } from '../../src/steps/layering/staging-registry.ts';
import { type SecureRegistry, startSecureRegistry } from '../image/lane/secure-registry.ts';
import { breakAfter } from '../guest/rig/broken-way.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { publishedFor } from '../layering/lane-facts.ts';
import { servedIgnition } from '../layering/served.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { type LiveHost, startLiveHost } from './deploy-image-host.ts';
import { addLayer } from './layered-image.ts';
import { type NextBoot, readNextBoot, writeDisk, type WrittenDisk } from './written-disk.ts';

const mebibyte = 1024 ** 2;
const roomyMiB = 3072;
/** The size of the image itself; its root has less than 500 MiB free. */
const tightMiB = 768;
const final = 'quay.example/team/os';
const renderedFile = '/opt/rendered.yaml';
const rendered = `rendered-master-${'a'.repeat(32)}`;
const name = 'team/os';

let folder: TestFolder;
let diskImage: string;
let stage: SecureRegistry;
let live: LiveHost;
const digests = new Map<string, string>();
let disk: WrittenDisk;
let untouched: NextBoot;

beforeAll(async () => {
  await ensureParts([osDisk, osImage, liveRoot, imageRegistry]);
  diskImage = join(partFolder(osDisk), 'labcoreos.raw.zst');
  const base = join(partFolder(osImage), 'oci');
  folder = createTestFolder('deploy-image');
  stage = await startSecureRegistry(join(folder.path, 'stage'));
  const layer = 'usr/share/labcoreos/layers/site';
  const kargs = {
    'usr/lib/bootc/kargs.d/20-site.toml': 'kargs = ["lab.image=yes", "lab.config=yes"]\n',
    'usr/lib/bootc/kargs.d/30-other.toml':
      'kargs = ["lab.other=yes"]\nmatch-architectures = ["riscv64"]\n',
  };
  const misspelt = { 'usr/lib/bootc/kargs.d/20-site.toml': 'kargs = [lab.image]\n' };
  for (const path of ['images', 'clients']) mkdirSync(join(folder.path, path));
  writeFileSync(join(folder.path, 'clients', 'ca.crt'), stage.authority);
  writeFileSync(join(folder.path, 'auth.json'), stage.pullSecret);
  for (const one of [
    { tag: 'layered', files: { [layer]: 5 }, texts: kargs, ballast: 16 * mebibyte },
    { tag: 'misspelt', files: { [layer]: 5 }, texts: misspelt },
    { tag: 'other', files: { [layer]: 5 }, architecture: 'riscv64' },
    { tag: 'large', files: { 'usr/share/large': 700 * mebibyte } },
  ]) {
    const layout = addLayer(base, join(folder.path, 'images'), one);
    digests.set(one.tag, push(layout, one.tag));
  }
  live = await startLiveHost(join(folder.path, 'live'));
  await prepareHost();
}, 3_600_000);

afterAll(async () => {
  await live[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

afterEach(() => {
  // A file system that stays frozen would hold the device.
  inspect();
  disk[Symbol.dispose]();
});

/** Pushes an image of an OCI layout to the registry, and returns its digest there. */
function push(layout: string, tag: string): string {
  const at = (path: string): string => join(folder.path, path);
  const options = [
    ...['--quiet', '--dest-cert-dir', at('clients'), '--dest-authfile', at('auth.json')],
    ...['--digestfile', at('digest')],
  ];
  const target = `docker://${stage.address}/${name}:${tag}`;
  execFileSync('skopeo', ['copy', ...options, `oci:${layout}`, target], { stdio: 'pipe' });
  return readFileSync(at('digest'), 'utf8').trim();
}

/** Pauses between attempts are short; limits are long. */
const clock = (): Clock => quickClock(20);

const digestOf = (tag: string): string => digests.get(tag) ?? '';

const writtenDisk = (sizeMiB: number): WrittenDisk =>
  writeDisk(live, { image: diskImage, path: join(folder.path, 'disk.raw'), sizeMiB });

async function putOnHost(path: string, content: string): Promise<void> {
  const { signal } = new AbortController();
  live.ask('mkdir', '-p', join(path, '..'));
  await live.host.writeFile(path, content, { signal, mode: 0o600 });
}

async function prepareHost(): Promise<void> {
  await putOnHost(`${stagingFiles.certificates}/ca.crt`, stage.authority);
  const machineConfig = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name: rendered },
    spec: {
      osImageURL: 'quay.example/rhcos@sha256:0',
      kernelArguments: ['lab.config=yes'],
      config: { ignition: { version: '3.5.0' } },
    },
  };
  await putOnHost(renderedFile, JSON.stringify(machineConfig));
  // No program here runs in a container; the test stops its own processes.
  await putOnHost('/usr/bin/podman', '#!/bin/sh\n');
  live.ask('chmod', '+x', '/usr/bin/podman');
}

interface Own {
  readonly tag: string;
  readonly address?: string;
}

/** The bootstrap host deploys the image of a tag to its own disk. */
async function deploy({ tag, address = stage.address }: Own) {
  await putOnHost(stagingFiles.authFile, stage.pullSecret.replace(stage.address, address));
  const digest = digestOf(tag);
  const published = publishedFor(['master'], {
    rendered,
    file: renderedFile,
    staged: `${address}/${name}@${digest}`,
    digest,
    final: `${final}@${digest}`,
  });
  const { certificates, authFile } = stagingFiles;
  const end = await tryStep(deployOwn, {
    config: { layering: { mode: 'on' }, image: { writerArgs: ['--append-karg', 'lab.host=yes'] } },
    host: live.host,
    clock: clock(),
    facts: {
      disk: disk.target,
      written: { disk: disk.target.path },
      registry: { kind: 'running', address, certificates, authFile },
      published,
    },
  });
  expect(mountsOf()).toEqual([]);
  return end;
}

/** Mount points of the disk in the live system. */
const mountsOf = (): readonly string[] =>
  live
    .ask('sh', '-c', `grep -o '^${disk.target.path}p[0-9]* [^ ]*' /proc/self/mounts || true`)
    .split('\n')
    .filter((line) => line !== '');

const codesIn = ({ events }: Awaited<ReturnType<typeof deploy>>): readonly unknown[] =>
  events.flatMap((event) =>
    event.type === 'note' && event.level === 'warn' ? [event.fields['code']] : [],
  );

const inspect = (): NextBoot => readNextBoot(live, disk);

/** The disk boots the same system as before, for the first time. */
const expectReleaseOs = (): void => {
  expect(inspect()).toEqual(untouched);
  expect(untouched).toMatchObject({ hasStamp: true });
  expect(untouched.layers).not.toContain('site');
};

const expectLayered = (): void => {
  const { image, options, layers, origins, hasStamp } = inspect();
  const followed = `${final}@${digestOf('layered')}`;
  expect({ image, hasStamp }).toEqual({ image: followed, hasStamp: true });
  expect(layers).toContain('site');
  // The disk image may itself follow an image, whose origin remains.
  expect(new Set(origins)).toEqual(new Set([followed, ...untouched.origins]));
  expect(options).toEqual([
    expect.stringMatching(/^ignition\.platform\.id=/),
    '$ignition_firstboot',
    'lab.host=yes',
    'lab.config=yes',
    // From the image; arguments that the MachineConfig has too are not duplicated.
    'lab.image=yes',
  ]);
};

describe('a disk with enough space', () => {
  beforeEach(() => {
    disk = writtenDisk(roomyMiB);
    untouched = inspect();
  });

  it('has its first boot into the built image, with its final name as origin', async () => {
    const end = await deploy({ tag: 'layered' });
    expect(end.failure).toBeUndefined();
    expect(end.notes).toEqual([]);
    expectLayered();
  });

  it('boots without invalid kernel arguments of the image, with a warning', async () => {
    const { failure, notes } = await deploy({ tag: 'misspelt' });
    expect(failure).toBeUndefined();
    expect(notes).toEqual([
      expect.stringContaining('the node boots without the kernel arguments of its image'),
    ]);
    expect(inspect().image).toBe(`${final}@${digestOf('misspelt')}`);
    expect(inspect().options).not.toContain('lab.image');
  });

  it('is the same after a second run', async () => {
    await deploy({ tag: 'layered' });
    const { failure } = await deploy({ tag: 'layered' });
    expect(failure).toBeUndefined();
    expect(inspect()).toMatchObject({ image: `${final}@${digestOf('layered')}`, hasStamp: true });
  });

  it.each([
    ['the registry dies during the pull', true, 'image.registry-unreachable'],
    ['the pull is cut', false, 'image.pull-cut'],
  ])(
    'boots the system of its disk image when %s, and the built image after another run',
    async (_, dies, code) => {
      await using way = await breakAfter(stage.address, 4 * mebibyte, { dies });
      const end = await deploy({ tag: 'layered', address: way.address });
      expect(end.failure).toBeUndefined();
      expect(codesIn(end)).toEqual([code]);
      expectReleaseOs();
      await deploy({ tag: 'layered' });
      expectLayered();
    },
  );

  it('boots the system of its disk image when the built image is for another architecture', async () => {
    const { failure } = await deploy({ tag: 'other' });
    expect(failure).toMatchObject({ code: 'image.wrong-architecture' });
    expectReleaseOs();
  });

  it('accepts the overlaid Ignition of a worker after the deployment froze the file system', async () => {
    await deploy({ tag: 'layered' });
    const image = `${final}@${digestOf('layered')}`;
    const source = 'http://api-int.example:22624/config/worker';
    const ignition = '/opt/worker.ign';
    const pointer = { ignition: { version: '3.2.0', config: { merge: [{ source }] } } };
    await putOnHost(ignition, JSON.stringify(pointer));
    const served = servedIgnition({ rendered, osImage: 'quay.example/rhcos@sha256:0' });
    await putOnHost(workerFiles.served, served);
    const found = { rendered, image, served: workerFiles.served, authFile: '' };
    await runStep(overlayWorkerConfig, {
      config: { role: 'worker', layering: { repository: final } },
      host: live.host,
      clock: clock(),
      facts: {
        disk: disk.target,
        ignition: { path: ignition, bytes: 0, sha256: '', origin: '', version: '3.2.0' },
        image: { kind: 'overlay', ...found },
        boot: { kind: 'deployed' },
      },
    });
    expect(mountsOf()).toEqual([]);
    const [embedded] = (JSON.parse(inspect().ignition) as typeof pointer).ignition.config.merge;
    const text = Buffer.from(embedded?.source.split(',')[1] ?? '', 'base64').toString();
    expect(readServedConfig(text)).toMatchObject({ rendered, osImage: image, currentImage: image });
  });

  it('has no data of the stopped registry', async () => {
    const { mount, work } = stagingPlaces;
    live.ask('mkdir', '-p', mount);
    live.ask('mount', `${disk.target.path}p4`, mount);
    await putOnHost(`${work}/registry/blob`, 'x');
    const run = {
      config: { layering: { mode: 'on' as const } },
      host: live.host,
      clock: clock(),
      facts: {
        request: { kind: 'on' as const, pools: [], why: '' },
        disk: disk.target,
      },
    };
    await runStep(stopRegistry, run);
    expect(mountsOf()).toEqual([]);
    live.ask('mount', `${disk.target.path}p4`, mount);
    expect(live.ask('sh', '-c', `ls -d ${work} 2> /dev/null || true`)).toBe('');
    live.ask('umount', mount);
  });
});

describe('a disk that is too small for the image', () => {
  beforeEach(() => {
    disk = writtenDisk(tightMiB);
    untouched = inspect();
  });

  it('boots the system of its disk image', async () => {
    const { failure } = await deploy({ tag: 'large' });
    expect(failure).toMatchObject({ code: 'image.no-room' });
    expectReleaseOs();
  });
});
