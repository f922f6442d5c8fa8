import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openContainerStore } from '../../scripts/image/container-store.ts';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { runLayerBuild } from '../../src/cli/layer/build.ts';
import { runLayerPush } from '../../src/cli/layer/push.ts';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import { PULL_SECRET_PATH } from '../../src/ignition/file.ts';
import { digestArgv, rawArgv } from '../../src/layering/image/copy-argv.ts';
import { mergePullSecrets } from '../../src/layering/registry/credentials.ts';
import { secretFiles } from '../../src/layering/registry/places.ts';
import { buildImages } from '../../src/steps/layering/build-images.ts';
import { copyBase } from '../../src/steps/layering/copy-base.ts';
import type { OsImageOrder, StagingRegistry } from '../../src/steps/layering/facts.ts';
import { publishImages } from '../../src/steps/layering/publish-images.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { Host } from '../../src/ports/host.ts';
import { startRegistry } from '../../src/steps/layering/start-registry.ts';
import { tagImage } from '../../src/steps/layering/tag-image.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { laneHost, type LaneHost, lanePaths } from './lane/build-lane.ts';
import { buildLayeringBase, otherArchitecture } from './lane/layering-base.ts';
import { freePort, type SecureRegistry, startSecureRegistry } from './lane/secure-registry.ts';

const store = openContainerStore();
const base = 'localhost/bootwright-test:lane-base';
const foreign = 'localhost/bootwright-test:lane-foreign';
const renderedConfig = `rendered-master-${'1'.repeat(32)}`;

let folder: string;
let release: SecureRegistry;
let final: SecureRegistry;
let lane: LaneHost;
let osImage: string;
let foreignImage: string;
let authFile: string;
let environment: Readonly<Record<string, string>>;
const names = { release: 'release/os', final: 'ocl/master' };

beforeAll(async () => {
  // podman takes no folder for its sockets whose name is longer than 50 characters.
  folder = mkdtempSync(join(tmpdir(), 'bw-'));
  release = await startSecureRegistry(join(folder, 'release'));
  final = await startSecureRegistry(join(folder, 'final'));
  const authorities = join(folder, 'authorities.pem');
  writeFileSync(authorities, `${release.authority}${final.authority}`);
  authFile = join(folder, 'auth.json');
  const both = [release, final].map(({ pullSecret }) => ({ from: 'test', text: pullSecret }));
  writeFileSync(authFile, mergePullSecrets(both));
  environment = { ...store.environment, SSL_CERT_FILE: authorities };
  await buildLayeringBase(store, join(folder, 'base'), base);
  await otherArchitecture(store, base, foreign);
  osImage = await pushed(base, `${release.address}/${names.release}:4.23`);
  foreignImage = await pushed(foreign, `${release.address}/${names.release}:s390x`);
  lane = await laneHost(join(folder, 'h'), environment);
  lane.write(PULL_SECRET_PATH, release.pullSecret);
  lane.write(lanePaths.rendered, machineConfig(osImage));
  const registryPort = await freePort();
  laneRun = {
    host: lane.host,
    ...lane.ports,
    config: { layering: { mode: 'on', registryImage: 'r.example.com/r:2', registryPort } },
  };
});
beforeEach(() => {
  lane.write(lanePaths.pushSecret, pushSecret());
  lane.write(lanePaths.osConfig, osConfig());
});
afterAll(async () => {
  for (const one of [release, final]) await one[Symbol.asyncDispose]();
  await lane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const machineConfig = (
  osImageURL: string,
  { name = renderedConfig, files = [] as readonly object[] } = {},
): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name },
  spec: {
    osImageURL,
    config: {
      ignition: { version: '3.2.0' },
      storage: {
        files: [{ path: '/etc/from-the-pool', contents: { source: 'data:,pool' } }, ...files],
      },
    },
  },
});

const osConfig = (
  content = 'FROM configs AS final\nRUN cp /etc/from-the-pool /usr/share/by-the-user\n',
): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSConfig',
  metadata: { name: 'master' },
  spec: {
    machineConfigPool: { name: 'master' },
    imageBuilder: { imageBuilderType: 'Job' },
    renderedImagePushSecret: { name: 'push' },
    renderedImagePushSpec: `${final.address}/${names.final}:latest`,
    containerFile: [{ content }],
  },
});

const pushSecret = (registry: Pick<SecureRegistry, 'pullSecret'> = final): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'push' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(registry.pullSecret).toString('base64') },
});

/** On the machine of the test, with the credentials of both registries. */
const tell = async (argv: readonly string[]): Promise<string> => {
  const { signal } = new AbortController();
  const host = localHost({ environment: { ...process.env, ...environment } });
  return (await host.exec(argv, { signal, limit: 120_000 })).stdout;
};

async function pushed(image: string, name: string): Promise<string> {
  await tell(['buildah', 'push', '--quiet', '--authfile', authFile, image, `docker://${name}`]);
  const digest = await tell(digestArgv({ image: name, authFile }));
  return `${name.replace(/:[^:/]+$/, '')}@${digest}`;
}

interface Manifest {
  readonly layers: readonly { readonly digest: string }[];
}
const layersOf = async (image: string, access: object = { authFile }): Promise<readonly string[]> =>
  (JSON.parse(await tell(rawArgv({ image, ...access }))) as Manifest).layers.map(
    ({ digest }) => digest,
  );

const order = (): OsImageOrder & { kind: 'on' } => ({
  kind: 'on',
  delivery: 'first-boot',
  why: 'a test',
  pools: [
    {
      pool: 'master',
      osConfig: lanePaths.osConfig,
      pushSecret: lanePaths.pushSecret,
      repository: `${final.address}/${names.final}`,
    },
  ],
});
const rendered = (image = osImage) => [
  { pool: 'master', name: renderedConfig, file: lanePaths.rendered, osImage: image },
];

const accessTo = ({ authFile: auth, certificates }: StagingRegistry) => ({
  authFile: lane.at(auth),
  certificates: lane.at(certificates),
});

let laneRun: Pick<LaneHost, 'host'> & LaneHost['ports'] & { readonly config: ConfigInput };
const facts = (image = osImage) => ({ order: order(), rendered: rendered(image) });
const start = async (): Promise<StagingRegistry> => {
  const { disk } = lane;
  const { value } = await runStep(startRegistry, { ...laneRun, facts: { ...facts(), disk } });
  if (value.kind === 'stock') throw new Error(value.why);
  return value;
};
const builtOn = async (registry: StagingRegistry) => {
  const { value, progress } = await runStep(buildImages, {
    ...laneRun,
    facts: { ...facts(), registry },
  });
  if (value.kind === 'stock') throw new Error(value.why);
  const [image] = value.images;
  if (image === undefined) throw new Error('nothing was built');
  return { value, image, said: progress.map(({ info }) => info) };
};

describe('the lane that builds on a bootstrap host', () => {
  it('has one registry, one address and one user, however often it starts', async () => {
    const registry = await start();
    expect(statSync(lane.at(registry.authFile)).mode & 0o777).toBe(0o600);
    const user = readFileSync(lane.at(secretFiles.curl), 'utf8');
    expect(await start()).toEqual(registry);
    expect(readFileSync(lane.at(secretFiles.curl), 'utf8')).toBe(user);
    expect(lane.starts()).toBe(2);
  });

  it('refuses a base for another architecture', async () => {
    const registry = await start();
    const { failure } = await tryStep(copyBase, {
      ...laneRun,
      facts: { ...facts(foreignImage), registry },
    });
    expect(failure).toMatchObject({
      code: 'layering.base-architecture',
      message: `${foreignImage} is for s390x, this host is amd64`,
    });
  });

  it('builds on the base so that all of its blobs stay, and publishes byte by byte', async () => {
    const registry = await start();
    await runStep(copyBase, { ...laneRun, facts: { ...facts(), registry } });
    const baseLayers = await layersOf(osImage);
    const stagedBase = `${registry.address}/layering/os${osImage.slice(osImage.indexOf('@'))}`;
    expect(await layersOf(stagedBase, accessTo(registry))).toEqual(baseLayers);

    const { value, image, said } = await builtOn(registry);
    const layers = await layersOf(image.staged, accessTo(registry));
    expect(layers.slice(0, baseLayers.length)).toEqual(baseLayers);
    // One for the stage of the MachineConfig, one for that of the user.
    expect(layers).toHaveLength(baseLayers.length + 2);
    expect(said).toContain('Building OS image of master: step 14 of 14');
    expect((await builtOn(registry)).said, 'what was pushed is not built again').toEqual([]);

    // The registry went away meanwhile; it is brought back.
    await lane.registry.stop();
    const publish = { order: order(), registry, built: value };
    const published = (await runStep(publishImages, { ...laneRun, facts: publish })).value;
    if (published.kind === 'stock') throw new Error(published.why);
    const name = `${final.address}/${names.final}`;
    expect(published.images).toEqual([{ ...image, final: `${name}@${image.digest}` }]);
    expect(await layersOf(`${name}@${image.digest}`)).toEqual(layers);
    await tagImage(laneScope(), {
      final: `${name}@${image.digest}`,
      tag: 'master-0123',
      pushSecret: lanePaths.pushSecret,
    });
    expect(await tell(digestArgv({ image: `${name}:master-0123`, authFile }))).toBe(image.digest);
    expect(readdirSync(lane.at('/opt/bootwright-layering/auth'))).toEqual([]);
  });

  it('builds with podman where there is no buildah, as on CoreOS', async () => {
    const registry = await start();
    const host: Host = {
      ...lane.host,
      exec: (argv, options) =>
        argv[0] === 'buildah'
          ? Promise.reject(hostFailure('command.not-found', 'buildah is not on the host'))
          : lane.host.exec(argv, options),
    };
    const other = anotherConfig('2');
    const { value } = await runStep(buildImages, {
      ...laneRun,
      host,
      facts: { ...facts(), rendered: other, registry },
    });
    if (value.kind === 'stock') throw new Error(value.why);
    const layers = await layersOf(value.images[0]?.staged ?? '', accessTo(registry));
    const baseLayers = await layersOf(osImage);
    expect(layers.slice(0, baseLayers.length)).toEqual(baseLayers);
  });

  it('pushes no image with two kernels', async () => {
    const registry = await start();
    const kernel = '/usr/lib/modules/6.2.0';
    lane.write(
      lanePaths.osConfig,
      osConfig(`FROM configs AS final\nRUN mkdir ${kernel} && touch ${kernel}/vmlinuz\n`),
    );
    const other = anotherConfig('3');
    const run = { ...laneRun, facts: { ...facts(), rendered: other, registry } };
    expect((await tryStep(buildImages, run)).failure).toMatchObject({
      code: 'layering.image-kernels',
      message: expect.stringContaining('6.1.0 and 6.2.0') as string,
    });
    const pushed = `${registry.address}/layering/os:${other[0]?.name ?? ''}`;
    await expect(tell(digestArgv({ image: pushed, ...accessTo(registry) }))).rejects.toThrow();
  });

  it('says so when a registry dies in the middle of a copy, and a second run succeeds', async () => {
    const registry = await start();
    const { value, image } = await builtOn(registry);
    await using mortal = await startSecureRegistry(join(folder, 'mortal'));
    appendFileSync(environment['SSL_CERT_FILE'] ?? '', mortal.authority);
    lane.write(lanePaths.pushSecret, pushSecret(mortal));
    const repository = `${mortal.address}/${names.final}`;
    const [pool] = order().pools;
    const run = {
      ...laneRun,
      clock: quickClock(),
      facts: {
        order: { ...order(), pools: [{ ...pool!, repository }] },
        registry,
        built: value,
      },
    };
    const killed = killDuringUpload(mortal);
    const { failure, notes } = await tryStep(publishImages, run);
    await killed;
    expect(failure).toMatchObject({ code: 'layering.registry-unreachable', kind: 'remote' });
    expect(notes.filter((note) => note.includes('is tried again'))).toHaveLength(2);

    await mortal.start();
    const { value: published } = await runStep(publishImages, run);
    expect(published).toMatchObject({ images: [{ final: `${repository}@${image.digest}` }] });
  });

  it('says so when a registry refuses the credentials', async () => {
    const registry = await start();
    const { value } = await builtOn(registry);
    const stranger = { auths: { [final.address]: { auth: btoa('tester:wrong') } } };
    lane.write(lanePaths.pushSecret, pushSecret({ pullSecret: JSON.stringify(stranger) }));
    const run = { ...laneRun, facts: { order: order(), registry, built: value } };
    expect((await tryStep(publishImages, run)).failure).toMatchObject({
      code: 'layering.registry-denied',
    });
  });
});

/** A MachineConfig that nothing was built for yet. */
function anotherConfig(digit: string) {
  const name = `rendered-master-${digit.repeat(32)}`;
  const file = `/etc/mcs/bootstrap/machine-configs/${name}.yaml`;
  lane.write(file, machineConfig(osImage, { name }));
  return [{ pool: 'master', name, file, osImage }];
}

/** Kills a registry as soon as somebody sends it a blob. */
async function killDuringUpload({ stop }: SecureRegistry): Promise<void> {
  const uploads = join(
    folder,
    'mortal/data/docker/registry/v2/repositories',
    names.final,
    '_uploads',
  );
  while (!existsSync(uploads)) await pause(2);
  await stop();
}

const laneScope = (): Parameters<typeof tagImage>[0] => ({
  ...lane.ports,
  host: lane.host,
  config: Config.parse({}),
  signal: new AbortController().signal,
  progress: () => undefined,
  note: () => undefined,
  onExit: () => undefined,
  until: () => Promise.reject(new Error('nothing is waited for')),
});

describe('layer build and layer push', () => {
  /** The release is nowhere but in its mirror. */
  const upstream = 'release.nowhere.test/os';
  const mirrors = (): object => {
    const mirror = `${release.address}/${names.release}`;
    const text = `[[registry]]\nprefix = "${upstream}"\nlocation = "${upstream}"\n[[registry.mirror]]\nlocation = "${mirror}"\n`;
    const source = `data:,${encodeURIComponent(text)}`;
    return { path: '/etc/containers/registries.conf', contents: { source } };
  };

  it('build and push on a laptop, from a mirror, and keep the blobs of the base', async () => {
    const printed: string[] = [];
    vi.stubEnv('TMPDIR', folder);
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const files = { osConfig: join(folder, 'os.json'), renderedConfig: join(folder, 'mc.json') };
    writeFileSync(files.osConfig, JSON.stringify(osConfig()));
    const mirrored = osImage.replace(/^[^@]*/, upstream);
    const rendered = machineConfig(mirrored, { files: [mirrors()] });
    writeFileSync(files.renderedConfig, JSON.stringify(rendered));
    const call = {
      ...files,
      authfile: authFile,
      storage: join(folder, 'laptop'),
      environment: { ...process.env, ...environment },
    };
    try {
      expect(await runLayerBuild(call)).toBe(0);
      expect(await runLayerPush(call)).toBe(0);
    } finally {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    }
    const [name, pushedAs = ''] = printed;
    expect(name).toBe(`localhost/bootwright/os-master:${renderedConfig}\n`);
    const image = /^digest {5}(sha256:\S+)\npull spec {2}(\S+@\1)\n$/.exec(pushedAs)?.[2] ?? '';
    const baseLayers = await layersOf(osImage);
    expect((await layersOf(image)).slice(0, baseLayers.length)).toEqual(baseLayers);
  });
});
