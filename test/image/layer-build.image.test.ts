import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runLayerBuild } from '../../src/cli/layer/build.ts';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import { PULL_SECRET_PATH } from '../../src/ignition/resource.ts';
import { baseTag, registryDigestArgv } from '../../src/layering/build/container-tools.ts';
import { stagingFiles } from '../../src/layering/registry/staging-registry.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { Host } from '../../src/ports/host.ts';
import { buildImages } from '../../src/steps/layering/build-images.ts';
import type { RenderedPool, StagingRegistry } from '../../src/steps/layering/facts.ts';
import {
  copyBase,
  publishImages,
  sendBase,
  tagImage,
} from '../../src/steps/layering/publish-images.ts';
import { startRegistry } from '../../src/steps/layering/staging-registry.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { type LaneHost, lanePaths } from './lane/build-lane.ts';
import {
  machineConfig,
  requestInto,
  osConfig,
  pushSecret,
  renderedConfig,
} from './lane/lane-objects.ts';
import { type LayeredSite, names, openLayeredSite } from './lane/layered-site.ts';
import { freePort } from '../../mocks/kube/program.ts';
import { type SecureRegistry, startSecureRegistry } from './lane/secure-registry.ts';

let site: LayeredSite;
let lane: LaneHost;
let repository: string;
let laneRun: Pick<LaneHost, 'host'> & LaneHost['ports'] & { readonly config: ConfigInput };

beforeAll(async () => {
  site = await openLayeredSite();
  ({ lane } = site);
  repository = `${site.final.address}/${names.final}`;
  const registryPort = await freePort();
  laneRun = {
    host: lane.host,
    ...lane.ports,
    config: { layering: { mode: 'on', registryImage: 'r.example.com/r:2', registryPort } },
  };
});

beforeEach(() => {
  lane.write(PULL_SECRET_PATH, readFileSync(site.authFile, 'utf8'));
  lane.write(lanePaths.pushSecret, pushSecret(site.final));
});
afterAll(() => site[Symbol.asyncDispose]());

const renderedPool = (name = renderedConfig, file: string = lanePaths.rendered): RenderedPool => ({
  ...requestInto(repository),
  rendered: name,
  file,
  osImage: site.osImage,
});

const rendered = (pool = renderedPool()) => ({ kind: 'pools' as const, pools: [pool] });

const accessTo = ({ authFile: auth, certificates }: StagingRegistry) => ({
  authFile: lane.at(auth),
  certificates: lane.at(certificates),
});

const facts = (pool?: RenderedPool) => ({ rendered: rendered(pool) });
const start = async (): Promise<StagingRegistry> => {
  const { disk } = lane;
  const { value } = await runStep(startRegistry, { ...laneRun, facts: { ...facts(), disk } });
  if (value.kind === 'release') throw new Error(value.why);
  return value;
};
const builtOn = async (registry: StagingRegistry) => {
  const { value, progress } = await runStep(buildImages, {
    ...laneRun,
    facts: { ...facts(), registry },
  });
  if (value.kind === 'release') throw new Error(value.why);
  const [image] = value.pools;
  if (image === undefined) throw new Error('nothing was built');
  return { value, image, said: progress.map(({ info }) => info) };
};

describe('the build lane on a bootstrap host', () => {
  it('keeps the address and the user of its registry on a restart', async () => {
    const registry = await start();
    expect(statSync(lane.at(registry.authFile)).mode & 0o777).toBe(0o600);
    const user = readFileSync(lane.at(stagingFiles.curl), 'utf8');
    expect(await start()).toEqual(registry);
    expect(readFileSync(lane.at(stagingFiles.curl), 'utf8')).toBe(user);
    expect(lane.starts()).toBe(2);
  });

  it('keeps all blobs of the base in the built image, and publishes the same layers', async () => {
    const registry = await start();
    await runStep(copyBase, { ...laneRun, facts: { ...facts(), registry } });
    const baseLayers = await site.layersOf(site.osImage);
    const stagedBase = `${registry.address}/layering/os${site.osImage.slice(site.osImage.indexOf('@'))}`;
    expect(await site.layersOf(stagedBase, accessTo(registry))).toEqual(baseLayers);
    await runStep(sendBase, { ...laneRun, facts: { ...facts(), registry } });
    expect(await site.layersOf(`${repository}:${baseTag(site.osImage)}`)).toEqual(baseLayers);

    const { value, image, said } = await builtOn(registry);
    const layers = await site.layersOf(image.staged, accessTo(registry));
    expect(layers.slice(0, baseLayers.length)).toEqual(baseLayers);
    // One layer for the MachineConfig's stage, one for the user's.
    expect(layers).toHaveLength(baseLayers.length + 2);
    expect(said).toContain('Building OS image of master: step 14 of 14');
    expect((await builtOn(registry)).said, 'what was pushed is not built again').toEqual([]);

    // The registry has stopped meanwhile; the lane starts it again.
    await lane.registry.stop();
    const publish = { registry, built: value };
    lane.write(PULL_SECRET_PATH, site.release.pullSecret);
    const refused = await tryStep(publishImages, { ...laneRun, facts: publish });
    expect(refused.failure).toMatchObject({ code: 'layering.not-pullable' });
    lane.write(PULL_SECRET_PATH, readFileSync(site.authFile, 'utf8'));
    const published = (await runStep(publishImages, { ...laneRun, facts: publish })).value;
    if (published.kind === 'release') throw new Error(published.why);
    expect(published.pools).toEqual([{ ...image, final: `${repository}@${image.digest}` }]);
    expect(await site.layersOf(`${repository}@${image.digest}`)).toEqual(layers);
    const final = `${repository}@${image.digest}`;
    await tagImage(laneScope(), final, 'master-0123', lanePaths.pushSecret);
    expect(
      await site.ask(
        registryDigestArgv({ image: `${repository}:master-0123`, authFile: site.authFile }),
      ),
    ).toBe(image.digest);
    expect(readdirSync(lane.at('/opt/bootwright-layering/auth'))).toEqual([]);
  });

  it('builds with podman on a host without buildah, like CoreOS', async () => {
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
      facts: { ...facts(other), registry },
    });
    if (value.kind === 'release') throw new Error(value.why);
    const layers = await site.layersOf(value.pools[0]?.staged ?? '', accessTo(registry));
    const baseLayers = await site.layersOf(site.osImage);
    expect(layers.slice(0, baseLayers.length)).toEqual(baseLayers);
  });

  it('refuses an image with two kernels', async () => {
    const registry = await start();
    const kernel = '/usr/lib/modules/6.2.0';
    const content = `FROM configs AS final\nRUN mkdir ${kernel} && touch ${kernel}/vmlinuz\n`;
    const other = anotherConfig('3');
    const pool = { ...other, ...requestInto(repository, content) };
    const run = { ...laneRun, facts: { ...facts(pool), registry } };
    expect((await tryStep(buildImages, run)).failure).toMatchObject({
      code: 'layering.image-kernels',
      message: expect.stringContaining('6.1.0 and 6.2.0') as string,
    });
    const pushed = `${registry.address}/layering/os:${other.rendered}`;
    await expect(
      site.ask(registryDigestArgv({ image: pushed, ...accessTo(registry) })),
    ).rejects.toThrow();
  });

  it('reports a registry that dies during a copy, and succeeds in a second run', async () => {
    const registry = await start();
    const { value, image } = await builtOn(registry);
    await using mortal = await startSecureRegistry(join(site.folder, 'mortal'));
    appendFileSync(site.environment['SSL_CERT_FILE'] ?? '', mortal.authority);
    lane.write(lanePaths.pushSecret, pushSecret(mortal));
    lane.write(PULL_SECRET_PATH, mortal.pullSecret);
    const repository = `${mortal.address}/${names.final}`;
    const run = {
      ...laneRun,
      clock: quickClock(),
      facts: {
        registry,
        built: { ...value, pools: [{ ...image, repository }] },
      },
    };
    const killed = killDuringUpload(mortal);
    const { failure, notes } = await tryStep(publishImages, run);
    await killed;
    expect(failure).toMatchObject({ code: 'layering.registry-unreachable', kind: 'remote' });
    expect(notes.filter((note) => note.includes('is retried'))).toHaveLength(2);

    await mortal.start();
    const { value: published } = await runStep(publishImages, run);
    expect(published).toMatchObject({ pools: [{ final: `${repository}@${image.digest}` }] });
  });
});

/** A MachineConfig without an image. */
function anotherConfig(digit: string): RenderedPool {
  const name = `rendered-master-${digit.repeat(32)}`;
  const file = `/etc/mcs/bootstrap/machine-configs/${name}.yaml`;
  lane.write(file, machineConfig(site.osImage, { name }));
  return renderedPool(name, file);
}

/** Kills a registry at the first upload of a blob. */
async function killDuringUpload({ stop }: SecureRegistry): Promise<void> {
  const uploads = join(
    site.folder,
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
  alive: () => undefined,
  note: () => undefined,
  hide: () => undefined,
  mask: (text: string) => text,
  onExit: () => undefined,
  until: () => Promise.reject(new Error('nothing is waited for')),
});

describe('layer build', () => {
  /** The release is only in its mirror. */
  const upstream = 'release.nowhere.test/os';
  const mirrors = (): object => {
    const mirror = `${site.release.address}/${names.release}`;
    const text = `[[registry]]\nprefix = "${upstream}"\nlocation = "${upstream}"\n[[registry.mirror]]\nlocation = "${mirror}"\n`;
    const source = `data:,${encodeURIComponent(text)}`;
    return { path: '/etc/containers/registries.conf', contents: { source } };
  };

  it('builds and pushes on a laptop from a mirror, and keeps the blobs of the base', async () => {
    const printed: string[] = [];
    vi.stubEnv('TMPDIR', site.folder);
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const files = {
      osConfig: join(site.folder, 'os.json'),
      renderedConfig: join(site.folder, 'mc.json'),
    };
    writeFileSync(files.osConfig, JSON.stringify(osConfig(repository)));
    const mirrored = site.osImage.replace(/^[^@]*/, upstream);
    const rendered = machineConfig(mirrored, { files: [mirrors()] });
    writeFileSync(files.renderedConfig, JSON.stringify(rendered));
    const call = {
      ...files,
      authfile: site.authFile,
      storage: join(site.folder, 'laptop'),
      environment: { ...process.env, ...site.environment },
    };
    try {
      expect(await runLayerBuild(call)).toBe(0);
      expect(await runLayerBuild({ ...call, pushAuthfile: call.authfile })).toBe(0);
    } finally {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    }
    const [name, pushedAs = ''] = printed;
    expect(name).toBe(`localhost/bootwright/os-master:${renderedConfig}\n`);
    const image = /^digest {5}(sha256:\S+)\npull spec {2}(\S+@\1)\n$/.exec(pushedAs)?.[2] ?? '';
    const baseLayers = await site.layersOf(site.osImage);
    expect((await site.layersOf(image)).slice(0, baseLayers.length)).toEqual(baseLayers);
  });
});
