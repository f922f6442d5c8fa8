import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { machineOSConfigs } from '../../src/kube/kinds.ts';
import {
  controllerConfig,
  blockedControllerConfig,
  renderedFile,
} from '../../src/layering/manifests/bootstrap-files.ts';
import { digestOf } from '../../src/lib/image-name.ts';
import { buildKeys } from '../../src/layering/api/os-build.ts';
import { releaseImage, renderedName, renderedText } from '../layering/rendered.ts';
import { workerCase } from '../layering/worker.ts';
import { type Corner, cornerOf, corners } from './corners.ts';
import { mastersFinal } from './layered.ts';
import {
  expectAlikeAfterEachWrite,
  expectAlikeAfterTwoCrashes,
  install,
  type Straight,
} from './processes.ts';
import type { Host } from './world.ts';

const cornerNamed = (part: string): Corner => {
  const found = corners.find(({ name }) => name.includes(part));
  if (found === undefined) throw new RangeError(`no corner is called ${part}`);
  return found;
};
const hostOf = ({ config, layering }: Corner): Host => ({ config, plan: {}, layering });
const built = cornerNamed('with operating systems that are built');
const submits = cornerNamed('that its cluster builds');
const unbuilt = cornerNamed('that cannot be built');

/** The final state of masters and cluster. */
function outcomeOf({ machine, kube }: Straight): unknown {
  const at = (path: string): string => join(machine.files.root, path);
  const served = readFileSync(at(renderedFile(renderedName('master'))), 'utf8');
  return {
    deployed: machine.deployments.get('rhcos')?.image,
    servesFinal: served.includes(mastersFinal),
    isHeld: [existsSync(at(blockedControllerConfig)), !existsSync(at(controllerConfig))],
    osConfigs: kube.objectsOf(machineOSConfigs).map(({ metadata, status }) => ({
      name: metadata.name,
      hasBuild: metadata.annotations?.[buildKeys.currentBuild] !== undefined,
      image: (status as { currentImagePullSpec?: string } | undefined)?.currentImagePullSpec,
    })),
    // The base was sent ahead.
    published: [...machine.images.inRegistries.keys()].filter(
      (name) =>
        name.startsWith('registry.example.com/ocl/master@') &&
        !name.endsWith(digestOf(releaseImage) ?? ''),
    ),
    leftOnDisk: readdirSync(at('.partitions'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.includes('bootwright-layering'),
    ),
  };
}

/** A chunk of the logs that the host sends. */
const sentLog = ({ machine }: Straight, name: string): string =>
  readFileSync(join(machine.files.root, 'var/log/logs_host_H/bootwright-layering', name), 'utf8');

const handedOver = ['master', 'worker'].map((name) => ({
  name,
  hasBuild: true,
  image: expect.stringContaining(`registry.example.com/ocl/${name}@sha256:`) as string,
}));
const submitted = ['master', 'worker'].map((name) => ({ name, hasBuild: false }));
const released = [false, false];

const cases: readonly (readonly [string, Corner, object])[] = [
  [
    'builds the operating systems and boots into its own',
    built,
    {
      deployed: expect.stringMatching(/:22626\/layering\/os@sha256:/) as string,
      servesFinal: true,
      isHeld: released,
      osConfigs: handedOver,
      published: [mastersFinal],
      leftOnDisk: [],
    },
  ],
  [
    'leaves the build to the cluster of an older release',
    submits,
    {
      servesFinal: false,
      isHeld: released,
      osConfigs: submitted,
      published: [],
      leftOnDisk: [],
    },
  ],
  [
    'falls back to the operating system of the release, and leaves the build to the cluster',
    unbuilt,
    {
      servesFinal: false,
      isHeld: released,
      osConfigs: submitted,
      published: [],
      leftOnDisk: [],
    },
  ],
];

describe('a bootstrap host with MachineOSConfigs among its manifests', () => {
  it.each(cases)('%s', async (...[, corner, outcome]) => {
    const straight = await install(hostOf(corner));
    expect(straight.life.error).toBeUndefined();
    expect(straight.machine.unknown).toEqual([]);
    expect(outcomeOf(straight)).toEqual(outcome);
    if (corner !== submits)
      expect(sentLog(straight, 'master-Containerfile')).toContain('rpm-ostree install tcpdump');
  });

  it('fails without a fallback, and starts no master without its image', async () => {
    const config = cornerOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } });
    const straight = await install({ ...hostOf(unbuilt), config });
    expect(straight.life.error).toMatchObject({ code: 'layering.build-failed' });
    expect(outcomeOf(straight)).toMatchObject({ isHeld: [true, true], osConfigs: [] });
    expect(sentLog(straight, 'master-Containerfile')).toContain('rpm-ostree install tcpdump');
    expect(sentLog(straight, 'index.txt')).toContain('master-build.log');
  });

  it('serves the image again after its control plane pod was recreated', async () => {
    const { machine } = await install(hostOf(built));
    const at = (path: string): string => join(machine.files.root, path);
    const path = at(renderedFile(renderedName('master')));
    writeFileSync(path, renderedText('master'));
    writeFileSync(at(controllerConfig), 'kind: ControllerConfig\n');
    await expect.poll(() => readFileSync(path, 'utf8')).toContain(mastersFinal);
  });

  it.each(['with the image of its pool', 'with the image that its cluster tells of'])(
    'deploys the image of its pool to a worker: %s',
    async (name) => {
      const { machine } = await install(hostOf(cornerNamed(name)));
      expect(machine.deployments.get('rhcos')?.image).toContain(workerCase.image);
    },
  );

  it.each(cases)(
    '%s, identically when the agent is killed after each write to its journal',
    async (...[, corner]) => {
      const straight = await install(hostOf(corner));
      await expectAlikeAfterEachWrite(hostOf(corner), straight, [true]);
    },
    300_000,
  );

  it('is installed identically when the agent is killed twice, before commands and after writes', async () => {
    const host = hostOf(built);
    const straight = await install(host);
    await expectAlikeAfterTwoCrashes(host, straight);
  });
});
