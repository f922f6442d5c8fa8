import { Buffer } from 'node:buffer';
import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { isPullRepository } from '../../layering/api/schema.ts';
import { type ImageAt, registryDigestArgv } from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  readPullAccess,
  readServedConfig,
  repositoryIn,
  servedImageProblem,
  type ServedConfig,
} from '../../layering/manifests/served-config.ts';
import { secretsFolder } from '../../layering/registry/staging-registry.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { classifyPullError } from '../../os/pull-failure.ts';
import { goArchitecture } from '../../os/registry-image.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { readArchitecture } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { readRendered } from '../image/deploy-final.ts';
import { WrittenImage } from '../image/facts.ts';
import { imageFailure } from '../image/failures.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { installsRelease, useReleaseImage, withReleaseFallback } from './conditions.ts';
import { type FoundImage, WorkerImage } from './facts.ts';
import { registryFacts, stderrOf } from './image-work.ts';

/** Images are published before the first master boots, long before a worker looks for them. */
const longestWait = minutes(30);

/** The time of a registry restart; a cluster may also name an image that it no longer builds. */
const longestWaitAsServed = minutes(5);

type FindScope = StepScope<'host' | 'web'>;

/**
 * Finds the image that was built for the pool of this worker: under the name of the rendered
 * MachineConfig, in the repository that the configuration names, otherwise in the one of the config
 * that the pool is served. If the cluster serves an image already, that one is used.
 */
export const findWorkerImage = step({
  id: 'layering/find-worker-image',
  title: 'Find the built OS image of the pool',
  uses: ['host', 'web'],
  needs: { ignition: HostIgnition, written: WrittenImage },
  gives: WorkerImage,
  when: all(writesDisk, takesBuiltImage),
  limit: hours(1),
  requires: [
    ({ layering: { repository } }) => {
      if (repository !== '') refuseUnusable(repository);
    },
  ],
  explain: ({ layering }) =>
    `${layering.repository || 'the repository that the served config names, if any'}, under the name of the rendered MachineConfig; waits for the machine-config-server, at most 20 minutes, then the image, at most 30 minutes, or 5 where only the served config names it`,
  preview: () => callsOf('install', 'skopeo', 'uname'),
  run: async (scope, { ignition }): Promise<WorkerImage> => {
    const { repository } = scope.config.layering;
    if (repository === '') return findAsServed(scope, ignition.path);
    refuseUnusable(repository);
    return withReleaseFallback(scope, async () => {
      const read = (bytes: Uint8Array) => ({
        text: textOf(bytes),
        served: readServedConfig(bytes),
      });
      const { text, served } = await readRendered(scope, ignition.path, { read });
      return findImage(scope, text, served, repository, longestWait);
    });
  },
});

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/**
 * Most clusters name no repository; then the rest of the served config is not read. A cluster that
 * names a repository without an image for this MachineConfig builds the image itself, and rolls it
 * out after the node has joined.
 */
async function findAsServed(scope: FindScope, ignitionPath: string): Promise<WorkerImage> {
  const read = (bytes: Uint8Array) => ({ text: textOf(bytes), repository: repositoryIn(bytes) });
  const found = await readRendered(scope, ignitionPath, { read }).catch((error: unknown) =>
    useReleaseImage(
      scope,
      error,
      `the served config cannot be read, so the image of the pool is unknown; ${installsRelease}`,
    ),
  );
  if ('kind' in found) return found;
  const { text, repository } = found;
  if (repository === undefined)
    return { kind: 'release', why: 'the served config names no image repository' };
  scope.note('info', 'the served config names the image repository of the pool', { repository });
  return withReleaseFallback(scope, async () => {
    refuseUnusable(repository);
    const served = readServedConfig(text);
    return findImage(scope, text, served, repository, longestWaitAsServed).catch(
      (error: unknown) => {
        if (asAgentError(error).code !== 'wait.timed-out') throw error;
        return useReleaseImage(
          scope,
          error,
          `the pool has no image for the served MachineConfig; ${installsRelease}`,
        );
      },
    );
  });
}

/** The files that a worker keeps of its served config, mode 0600. */
export const workerFiles = {
  served: `${secretsFolder}/served.ign`,
  authFile: `${secretsFolder}/pull-secret.json`,
  certificates: `${secretsFolder}/worker-certificates`,
} as const;

/**
 * Finds the image for the served config of a pool. If the cluster serves an image already, that one
 * is used.
 * @param text the complete served config
 * @param within time limit of the wait for the image
 * @throws AgentError `layering.served-torn`, `image.wrong-architecture`, `wait.timed-out`
 */
async function findImage(
  scope: FindScope,
  text: string,
  served: ServedConfig,
  repository: string,
  within: Millis,
): Promise<FoundImage> {
  const { note } = scope;
  const { rendered } = served;
  const access = await keepAccess(scope, text, repository);
  const found = { rendered, served: workerFiles.served, ...access };
  const named = imageServed(served, repository);
  if (named !== undefined) {
    note('info', 'the cluster already serves the built OS image', { image: named });
    return { kind: 'served', image: named, ...found };
  }
  const tagged = { image: `${repository}:${rendered}`, ...access };
  const digest = await scope.until(
    `${repository} has the image of ${rendered}`,
    () => pollDigest(scope, tagged),
    { every: seconds(15), within },
  );
  const image = `${repository}@${digest}`;
  const { architecture } = await registryFacts(scope, { image, ...access });
  const host = goArchitecture(await readArchitecture(scope));
  if (architecture !== host) {
    const what = `${image} is for ${architecture}, the host is ${host}`;
    throw imageFailure('image.wrong-architecture', what, {
      context: { image, architecture, host },
    });
  }
  note('info', 'the built OS image is found', { image, rendered });
  return { kind: 'overlay', image, ...found };
}

/**
 * The image in a served config; undefined if it is the image of the release. If the MachineConfig
 * of the pool names it, no other place does.
 * @throws AgentError `layering.served-torn` if its places differ
 */
function imageServed(served: ServedConfig, repository: string): string | undefined {
  const { osImage } = served;
  const named = served.currentImage ?? served.desiredImage;
  if (named === undefined) return osImage.startsWith(`${repository}@`) ? osImage : undefined;
  const problem = servedImageProblem(served, named);
  if (problem === undefined) return named;
  throw layeringFailure('layering.served-torn', `${served.rendered}: ${problem}`);
}

/** Saves the machine's credentials and certificates for pulls, for the programs on this host. */
async function keepAccess(
  { host, signal }: FindScope,
  text: string,
  repository: string,
): Promise<Pick<FoundImage, 'authFile' | 'certificates'>> {
  const { served, authFile, certificates: folder } = workerFiles;
  const { pullSecret, certificates } = readPullAccess(text, repository);
  const files = new Map([
    [served, text],
    [authFile, pullSecret],
    ...certificates.map((pem, index) => [`${folder}/${index}.crt`, pem] as const),
  ]);
  const argv = ['install', '--directory', '--mode=0700', secretsFolder, folder];
  await host.exec(argv, { signal, limit: minutes(2) });
  for (const [path, content] of files) await host.writeFile(path, content, { signal, mode: 0o600 });
  return certificates.length === 0 ? { authFile } : { authFile, certificates: folder };
}

/**
 * The digest of the image. Registries often report an image that does not exist yet as forbidden.
 */
async function pollDigest(
  { host, signal }: FindScope,
  tagged: ImageAt,
): Promise<PollResult<string>> {
  try {
    const argv = registryDigestArgv(tagged);
    const { stdout } = await host.exec(argv, { signal, limit: minutes(2) });
    return /^sha256:[0-9a-f]{64}$/.test(stdout)
      ? { done: stdout }
      : { status: `the registry answers ${stdout === '' ? 'nothing' : stdout}` };
  } catch (error) {
    signal.throwIfAborted();
    const stderr = stderrOf(error);
    const cause = stderr === undefined ? undefined : classifyPullError(stderr);
    if (cause === undefined || cause === 'wrong-architecture' || cause === 'no-room') throw error;
    return { status: asAgentError(error).message };
  }
}

/**
 * @throws AgentError `layering.repository-unusable` for a name that is not a repository from which
 * a node can pull
 */
function refuseUnusable(repository: string): void {
  if (isPullRepository(repository)) return;
  const what = `${repository} is not HOST/[NAMESPACE/]NAME`;
  throw layeringFailure('layering.repository-unusable', what, { context: { repository } });
}
