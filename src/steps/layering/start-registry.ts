import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { certificateCommands } from '../../layering/registry/credentials.ts';
import {
  answerArgv,
  imageForArgv,
  registryOfRelease,
  type RegistryRun,
  registrySettings,
  releaseImageIn,
  releaseScript,
  removeRegistryArgv,
  runRegistryArgv,
  secretFiles,
  stagingAddress,
  stagingPlaces,
} from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { TargetDisk } from '../disk/facts.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, RenderedConfigs, StagingRegistry } from './facts.ts';
import { proxyEnv } from '../host-commands.ts';
import { orStock } from './or-stock.ts';
import { untilRegistryAnswers, type RunningRegistry } from './registry-health.ts';
import { makeRegistrySecrets, secretFoldersArgv } from './registry-secrets.ts';
import { freeBytesArgv, openStagingDisk } from './staging-disk.ts';

type RegistryScope = StepScope<'host' | 'clock' | 'random'>;

/** The image of the registry may come over a slow line. */
const longestPull = minutes(30);

/**
 * Starts a registry on this host. The base lies in it byte by byte before anything is built on it, so that what is
 * pushed keeps the blobs that nodes have already. A second run finds the same registry and user.
 */
export const startRegistry = step({
  id: 'layering/start-registry',
  title: 'Start the registry that images are built in',
  uses: ['host', 'clock', 'random'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, disk: TargetDisk },
  gives: StagingRegistry,
  when: buildsOsImages,
  touches: ['disk:install'],
  limit: longestPull + minutes(20),
  waitsFor: 'the registry to answer, at most 2 minutes',
  explain: ({ layering }) =>
    layering.registryImage === ''
      ? 'the registry is that of the release, docker-registry'
      : `the registry is ${layering.registryImage}, as layering.registryImage says`,
  preview: ({ layering }) => previewOf(layering),
  run: async (scope, { order, rendered, disk }) => {
    if (order.kind === 'off') return { kind: 'stock', why: order.why } as const;
    if (rendered.length === 0)
      return { kind: 'stock', why: 'no MachineConfig was rendered' } as const;
    return orStock(scope, async () => {
      try {
        return await start(scope, disk);
      } catch (error) {
        await letGo(scope);
        throw error;
      }
    });
  },
});

async function start(scope: RegistryScope, target: TargetDisk): Promise<RunningRegistry> {
  const { config, host, signal } = scope;
  const { data } = await openStagingDisk(scope, target);
  const port = config.layering.registryPort;
  const address = stagingAddress(port);
  await makeRegistrySecrets(scope, address, {
    addresses: ['127.0.0.1'],
    names: ['localhost'],
  });
  const { settings, served, certificates, authFile } = secretFiles;
  await host.writeFile(settings, registrySettings({ port }), { signal, mode: 0o600 });
  const image = await findImage(scope);
  const run = { ...image, data, served, authFile: PULL_SECRET_PATH };
  await runContainer(scope, run);
  await untilRegistryAnswers(scope, { address, certificates });
  return { kind: 'running', address, data, certificates, authFile };
}

/** Where the installation goes on without images, nothing must be in the way of the written disk. */
async function letGo({ host }: RegistryScope): Promise<void> {
  const { signal } = new AbortController();
  for (const argv of [removeRegistryArgv, ['umount', stagingPlaces().mount]]) {
    await host.exec(argv, { signal, limit: seconds(30) }).catch(() => undefined);
  }
}

/**
 * The image of the registry: as it is set, else that of the release.
 * @throws AgentError `layering.no-registry-image`
 */
async function findImage({
  config,
  host,
  signal,
}: RegistryScope): Promise<Pick<RegistryRun, 'image' | 'isOfRelease'>> {
  const { registryImage } = config.layering;
  if (registryImage !== '') return { image: registryImage, isOfRelease: false };
  const release = releaseImageIn((await host.readText(releaseScript, signal)) ?? '');
  if (release === undefined) {
    throw layeringFailure('layering.no-registry-image', `${releaseScript} names no release image`);
  }
  const argv = imageForArgv(release, registryOfRelease, PULL_SECRET_PATH);
  const env = proxyEnv(config.proxy);
  const { stdout } = await host.exec(argv, { signal, env, limit: longestPull });
  if (stdout !== '') return { image: stdout, isOfRelease: true };
  throw layeringFailure('layering.no-registry-image', `${release} has no ${registryOfRelease}`);
}

async function runContainer(
  { config, host, signal }: RegistryScope,
  run: RegistryRun,
): Promise<void> {
  const env = proxyEnv(config.proxy);
  try {
    await host.exec(runRegistryArgv(run), { signal, env, limit: longestPull });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    throw layeringFailure('layering.registry-not-started', `${run.image}: ${error.message}`, {
      cause: error,
    });
  }
}

function previewOf({
  registryImage,
  registryPort,
}: RegistryScope['config']['layering']): readonly (readonly string[])[] {
  const { mount, work, data, storage, scratch } = stagingPlaces();
  const { authority, served, certificates, curl } = secretFiles;
  const isOfRelease = registryImage === '';
  const image = isOfRelease ? '<docker-registry of the release>' : registryImage;
  return [
    ['mkdir', '-p', mount],
    ['mount', '<root partition>', mount],
    ['mkdir', '-p', data, storage, scratch],
    freeBytesArgv(work),
    secretFoldersArgv,
    ...certificateCommands(authority, { from: '<an hour ago>', until: '<in a month>' }),
    ...(isOfRelease ? [imageForArgv('<release image>', registryOfRelease, PULL_SECRET_PATH)] : []),
    runRegistryArgv({ image, isOfRelease, data, served, authFile: PULL_SECRET_PATH }),
    answerArgv(stagingAddress(registryPort), { certificates, credentials: curl }),
  ];
}
