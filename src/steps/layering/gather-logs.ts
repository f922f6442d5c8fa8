import { asAgentError } from '../../engine/failures.ts';
import { bundleFolder, folderThatIsSent } from '../../layering/log-bundle.ts';
import { stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { openBundle } from './bundle/bundle.ts';
import { addClusterPieces } from './bundle/cluster-pieces.ts';
import { addHostPieces, gatheringCommands } from './bundle/host-pieces.ts';
import { readKnownSecrets } from './bundle/known-secrets.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { unlessOrdered } from './skips.ts';
import { stashFolders } from './stash-os-configs.ts';

type GatherScope = StepScope<'host' | 'kube' | 'clock'>;

const folderArgv = ['install', '--directory', '--mode', '0700', bundleFolder] as const;

/** The commands that put a copy beside the other logs that the service is sent. */
const copyCommands = (hostId: string): readonly (readonly string[])[] => {
  const to = folderThatIsSent(hostId);
  return hostId === ''
    ? []
    : [
        ['install', '--directory', '--mode', '0700', to],
        ['cp', '--recursive', `${bundleFolder}/.`, to],
      ];
};

const gathering = {
  uses: ['host', 'kube', 'clock'],
  // Each of its commands has a limit of its own; together they stay far below.
  limit: minutes(15),
  preview: ({ cluster }: GatherScope['config']) => [
    folderArgv,
    ...Object.values(gatheringCommands),
    ...copyCommands(cluster.hostId),
  ],
} as const;

/** Keeps what is known of the images before what was built is cleared off the disk; the logs are sent after it. */
export const gatherLogs = step({
  ...gathering,
  id: 'layering/gather-logs',
  title: 'Gather the logs of the images that were built',
  needs: { order: OsImageOrder },
  when: buildsOsImages,
  skipIf: unlessOrdered,
  run: (scope) => gather(scope, 'before the host leaves'),
});

/**
 * The same after a failure, before the service hears of it: it lets the logs of the host be sent as soon as it
 * does. It asks for no fact, since nobody knows how far the run came; a host without orders has nothing of this.
 */
export const gatherLogsAtTheEnd = step({
  ...gathering,
  id: 'layering/gather-logs-at-the-end',
  title: 'Gather the logs of the images, also when the installation has failed',
  when: buildsOsImages,
  run: async (scope) => {
    const stashed = await scope.host.list(stashFolders.osConfigs, scope.signal);
    if (stashed.length > 0 && !(await isGathered(scope))) await gather(scope, 'after a failure');
  },
});

type Occasion = 'before the host leaves' | 'after a failure';

/** The first line of the index. */
const titleOf = (occasion: Occasion): string => `gathered ${occasion}`;

/** Nothing of the build is left to be gathered, and it was gathered before that. */
async function isGathered({ host, signal }: GatherScope): Promise<boolean> {
  const isCleared = (await host.realPath(stagingPlaces().work, signal)) === undefined;
  const index = isCleared ? await host.readText(`${bundleFolder}/index.txt`, signal) : undefined;
  return index?.startsWith(titleOf('before the host leaves')) === true;
}

/** Logs are never worth an installation: that they cannot be gathered is told, and no more. */
async function gather(scope: GatherScope, occasion: Occasion): Promise<void> {
  const { host, signal, config, note } = scope;
  const run = (argv: readonly string[]): Promise<unknown> =>
    host.exec(argv, { signal, limit: seconds(30) });
  try {
    await run(folderArgv);
    const { mask, sources } = await readKnownSecrets(scope);
    const bundle = openBundle(scope, { mask });
    await bundle.add('credentials.json', () => Promise.resolve(JSON.stringify(sources, null, 2)));
    await addHostPieces(scope, bundle);
    await addClusterPieces(scope, bundle);
    await bundle.close(titleOf(occasion));
    for (const argv of copyCommands(config.cluster.hostId)) await run(argv);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the logs of the images are not gathered', { code, reason: message });
  }
}
