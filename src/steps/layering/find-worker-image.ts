import { Buffer } from 'node:buffer';
import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { isPullRepository } from '../../layering/api/schema.ts';
import {
  registryConfigArgv,
  registryDigestArgv,
  type ImageAt,
  classifyPullError,
} from '../../layering/build/container-tools.ts';
import { readImageFacts } from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { secretsFolder } from '../../layering/registry/staging-registry.ts';
import {
  readPullAccess,
  readServedConfig,
  repositoryIn,
  type ServedConfig,
  servedImageProblem,
} from '../../layering/manifests/served-config.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { goArchitecture } from '../../os/registry-image.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { readArchitecture } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { readRendered } from '../image/deploy-final.ts';
import { WrittenImage } from '../image/facts.ts';
import { imageFailure } from '../image/failures.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { withReleaseFallback } from './conditions.ts';
import { type FoundImage, type Release, WorkerImage } from './facts.ts';

/** Images are published before the first master boots, long before a worker looks for them. */
const longestWait = minutes(30);

/** A registry that restarts; a cluster may also name an image that it no longer builds. */
const longestWaitAsServed = minutes(5);

/**
 * Finds the image that was built for the pool of this worker: under the name of the rendered
 * MachineConfig, in the repository that the configuration names, or else the config that the pool
 * is served. Where the cluster serves an image already, it is that one.
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
    return withReleaseFallback(scope, async () =>
      lookForImage(scope, {
        ...(await readServed(scope, ignition.path)),
        repository,
        within: longestWait,
      }),
    );
  },
});

/**
 * Most clusters name no repository; then the rest of the served config is not read. One that names
 * a repository without an image for this MachineConfig builds the image itself, and rolls it out
 * once the node has joined.
 */
async function findAsServed(scope: FindScope, ignitionPath: string): Promise<WorkerImage> {
  const { note } = scope;
  const read = (bytes: Uint8Array) => ({ text: textOf(bytes), repository: repositoryIn(bytes) });
  const found = await readRendered(scope, ignitionPath, { read }).catch((error: unknown) =>
    useReleaseImage(
      scope,
      error,
      'the served config cannot be read, so the image of the pool is unknown',
    ),
  );
  if ('kind' in found) return found;
  const { text, repository } = found;
  if (repository === undefined)
    return { kind: 'release', why: 'the served config names no image repository' };
  note('info', 'the served config names the image repository of the pool', { repository });
  return withReleaseFallback(scope, async () => {
    refuseUnusable(repository);
    const lead = { text, served: readServedConfig(text), repository, within: longestWaitAsServed };
    return lookForImage(scope, lead).catch((error: unknown) => {
      if (asAgentError(error).code !== 'wait.timed-out') throw error;
      return useReleaseImage(scope, error, 'the pool has no image for the served MachineConfig');
    });
  });
}

/** The system of the release instead, with a warning. */
function useReleaseImage({ signal, note }: FindScope, error: unknown, what: string): Release {
  signal.throwIfAborted();
  const { code, message } = asAgentError(error);
  note('warn', `${what}; the OS image of the release is installed`, { code, reason: message });
  return { kind: 'release', why: `${code}: ${message}` };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const readServed = (
  scope: FindScope,
  ignitionPath: string,
): Promise<Pick<Lead, 'text' | 'served'>> =>
  readRendered(scope, ignitionPath, {
    read: (bytes) => ({ text: textOf(bytes), served: readServedConfig(bytes) }),
  });

type FindScope = StepScope<'host' | 'web'>;

/** What a worker keeps of the config that it is served, mode 0600. */
export const workerFiles = {
  served: `${secretsFolder}/served.ign`,
  authFile: `${secretsFolder}/pull-secret.json`,
  certificates: `${secretsFolder}/worker-certificates`,
} as const;

/** Makes the folders that these lie in. */
const workerFoldersArgv = [
  ...['install', '--directory', '--mode=0700', secretsFolder, workerFiles.certificates],
] as const;

interface Lead {
  /** The whole of what is served. */
  readonly text: string;
  readonly served: ServedConfig;
  readonly repository: string;
  /** How long the image is waited for. */
  readonly within: Millis;
}

/**
 * Finds the image that was built for what a pool is served. Where the cluster serves an image
 * already, it is that one.
 * @throws AgentError `layering.served-torn`, `image.wrong-architecture`, `wait.timed-out`
 */
async function lookForImage(
  scope: FindScope,
  { text, served, repository, within }: Lead,
): Promise<FoundImage> {
  const { note } = scope;
  const access = await keepAccess(scope, text, repository);
  const { rendered } = served;
  const kept = { rendered, served: workerFiles.served, ...access };
  const named = imageServed(served, repository);
  if (named !== undefined) {
    note('info', 'the cluster already serves the built OS image', { image: named });
    return { kind: 'served', image: named, ...kept };
  }
  const tagged = { image: `${repository}:${rendered}`, ...access };
  const digest = await scope.until(
    `${repository} has the image of ${rendered}`,
    () => poll(scope, tagged),
    { every: seconds(15), within },
  );
  const image = `${repository}@${digest}`;
  await refuseOtherArchitecture(scope, { image, ...access });
  note('info', 'the built OS image is found', { image, rendered });
  return { kind: 'overlay', image, ...kept };
}

/**
 * The image that a served config names; undefined where it is that of the release. Where the
 * MachineConfig of the pool names it, no other place does.
 * @throws AgentError `layering.served-torn` when its places differ
 */
function imageServed(served: ServedConfig, repository: string): string | undefined {
  const { osImage } = served;
  const named = served.currentImage ?? served.desiredImage;
  if (named === undefined) return osImage.startsWith(`${repository}@`) ? osImage : undefined;
  const fault = servedImageProblem(served, named);
  if (fault === undefined) return named;
  throw layeringFailure('layering.served-torn', `${served.rendered}: ${fault}`);
}

/** Keeps what the machine will pull with where programs of the host find it. */
async function keepAccess(
  { host, signal }: FindScope,
  text: string,
  repository: string,
): Promise<Omit<ImageAt, 'image'> & { readonly authFile: string }> {
  const { served, authFile, certificates: folder } = workerFiles;
  const { pullSecret, certificates } = readPullAccess(text, repository);
  await host.exec(workerFoldersArgv, { signal, limit: seconds(30) });
  await host.writeFile(served, text, { signal, mode: 0o600 });
  await host.writeFile(authFile, pullSecret, { signal, mode: 0o600 });
  if (certificates.length === 0) return { authFile };
  for (const [index, pem] of certificates.entries()) {
    await host.writeFile(`${folder}/${index}.crt`, pem, { signal, mode: 0o600 });
  }
  return { authFile, certificates: folder };
}

/** The digest of the image. Registries often call an image that is not there yet forbidden. */
async function poll(scope: FindScope, tagged: ImageAt): Promise<PollResult<string>> {
  try {
    const digest = await ask(scope, registryDigestArgv(tagged));
    return /^sha256:[0-9a-f]{64}$/.test(digest)
      ? { done: digest }
      : { status: `the registry answers ${digest === '' ? 'nothing' : digest}` };
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    if (classifyPullError(String(error.context['stderr'] ?? '')) === 'other') throw error;
    return { status: error.message };
  }
}

async function refuseOtherArchitecture(scope: FindScope, at: ImageAt): Promise<void> {
  const { architecture } = readImageFacts(await ask(scope, registryConfigArgv(at)), at.image);
  const machine = goArchitecture(await readArchitecture(scope));
  if (architecture === machine) return;
  const what = `${at.image} is for ${architecture}, the host is ${machine}`;
  throw imageFailure('image.wrong-architecture', what, {
    context: { image: at.image, architecture, host: machine },
  });
}

const ask = async ({ host, signal }: FindScope, argv: readonly string[]): Promise<string> =>
  (await host.exec(argv, { signal, limit: minutes(2) })).stdout;

/**
 * @throws AgentError `layering.repository-unusable` for what is no repository that a node can pull
 * from
 */
function refuseUnusable(repository: string): void {
  if (isPullRepository(repository)) return;
  const what = `${repository} is not HOST/[NAMESPACE/]NAME`;
  throw layeringFailure('layering.repository-unusable', what, { context: { repository } });
}
