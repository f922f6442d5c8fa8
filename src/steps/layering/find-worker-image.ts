import { Buffer } from 'node:buffer';
import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { configArgv, digestArgv } from '../../layering/build/container-tools.ts';
import { readServedConfig, repositoryIn } from '../../layering/served-config.ts';
import { hours, minutes } from '../../model/duration.ts';
import { architectureArgv } from '../host-commands.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { WrittenImage } from '../image/facts.ts';
import { readRendered } from '../image/final-os.ts';
import { step } from '../step.ts';
import {
  type FindScope,
  type Lead,
  lookForImage,
  refuseUnusable,
  workerFiles,
  workerFoldersArgv,
} from './look-for-image.ts';
import { orStock, type Stock } from './or-stock.ts';
import { WorkerImage } from './worker-facts.ts';

/** Images are published before the first master boots, long before a worker looks for them. */
const longestWait = minutes(30);

/** A registry that restarts; what a cluster tells may also be of an image that it no longer builds under this name. */
const longestWaitAsTold = minutes(5);

/**
 * Finds the image that was built for the pool of this worker: under the name of the rendered MachineConfig, in the
 * repository that the configuration names, or else the config that the pool is served. Where the cluster serves an
 * image already, it is that one.
 */
export const findWorkerImage = step({
  id: 'layering/find-worker-image',
  title: 'Find the built image of the pool',
  uses: ['host', 'web'],
  needs: { ignition: HostIgnition, written: WrittenImage },
  gives: WorkerImage,
  when: all(writesDisk, takesBuiltImage),
  limit: hours(1),
  waitsFor:
    'the machine-config-server, at most 20 minutes, and the image, at most 30, or 5 where only the served config tells of it',
  explain: ({ layering }) =>
    `${namedRepository(layering)}, under the name of the rendered MachineConfig`,
  preview: ({ layering }) => {
    const repository = layering.repository === '' ? '<repository>' : layering.repository;
    const at = { image: `${repository}:<rendered>`, authFile: workerFiles.authFile };
    return [workerFoldersArgv, digestArgv(at), configArgv(at), architectureArgv];
  },
  run: async (scope, { ignition }): Promise<WorkerImage> => {
    const { repository } = scope.config.layering;
    if (repository === '') return findAsTold(scope, ignition.path);
    refuseUnusable(repository);
    return orStock(scope, async () =>
      lookForImage(scope, {
        ...(await readServed(scope, ignition.path)),
        repository,
        within: longestWait,
      }),
    );
  },
});

const namedRepository = ({ repository }: FindScope['config']['layering']): string =>
  repository === '' ? 'the repository that the served config tells, if any' : repository;

/**
 * Most clusters tell nothing, and what they serve is then not looked at any closer. One that tells of an image and has none
 * for this MachineConfig builds by itself, and brings the node there once it has joined.
 */
async function findAsTold(scope: FindScope, ignitionPath: string): Promise<WorkerImage> {
  const { note } = scope;
  const read = (bytes: Uint8Array) => ({ text: textOf(bytes), repository: repositoryIn(bytes) });
  const told = await readRendered(scope, ignitionPath, { read }).catch((error: unknown) =>
    toldOff(scope, error, 'whether the pool has an image of its own cannot be seen'),
  );
  if ('kind' in told) return told;
  const { text, repository } = told;
  if (repository === undefined)
    return { kind: 'stock', why: 'the served config tells of no image of the pool' };
  note('info', 'the served config tells where the images of the pool lie', { repository });
  return orStock(scope, async () => {
    refuseUnusable(repository);
    const lead = { text, served: readServedConfig(text), repository, within: longestWaitAsTold };
    return lookForImage(scope, lead).catch((error: unknown) => {
      if (asAgentError(error).code !== 'wait.timed-out') throw error;
      return toldOff(scope, error, 'the pool has no image for what it is served');
    });
  });
}

/** The system of the release instead, with a warning. */
function toldOff({ signal, note }: FindScope, error: unknown, what: string): Stock {
  signal.throwIfAborted();
  const { code, message } = asAgentError(error);
  note('warn', `${what}; the system of the release is installed`, { code, reason: message });
  return { kind: 'stock', why: `${code}: ${message}` };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const readServed = (
  scope: FindScope,
  ignitionPath: string,
): Promise<Pick<Lead, 'text' | 'served'>> =>
  readRendered(scope, ignitionPath, {
    read: (bytes) => ({ text: textOf(bytes), served: readServedConfig(bytes) }),
  });
