import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { readObjects, type SourceFile } from '../../layering/api/source-object.ts';
import { asideFolders } from '../../layering/manifests/bootstrap-files.ts';
import { secretTexts } from '../../layering/registry/credentials.ts';
import {
  bundleFolder,
  credentialsIn,
  lastPart,
  folderThatIsSent,
  isLongEnough,
  longestBundle,
  type PullSecretContent,
  withoutSecretLooks,
} from '../../layering/registry/log-secrets.ts';
import { stagingFiles, stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { minutes } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import { buildsOsImages } from '../conditions.ts';
import {
  collect,
  type Collector,
  collectorsOf,
  type Hide,
  listedOnce,
  type LogReach,
  rowsOf,
} from '../logs/collectors.ts';
import { step, type StepScope } from '../step.ts';
import { unlessRequested } from './conditions.ts';
import { BuildRequest } from './facts.ts';

type GatherScope = StepScope<'host' | 'kube' | 'clock'>;

const folderArgv = ['install', '--directory', '--mode', '0700', bundleFolder] as const;

/** The commands that put a copy next to the other logs for the service. */
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
  // Each of its commands has a limit of its own; their sum is far below this.
  limit: minutes(15),
  preview: ({ cluster }: GatherScope['config']) => [
    folderArgv,
    ...collectorsOf('builds').flatMap(({ from }) => ('argv' in from ? [from.argv] : [])),
    ...copyCommands(cluster.hostId),
  ],
} as const;

/**
 * Saves the data about the images before the built content is removed from the disk; the logs are
 * sent afterwards.
 */
export const gatherLogs = step({
  ...gathering,
  id: 'layering/gather-logs',
  title: 'Gather the logs of the image builds',
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  run: (scope) => gather(scope, 'before the host leaves'),
});

/**
 * The same after a failure, while the service learns of it: within two minutes the service requests
 * the logs of the host and stops the running work. The step needs no fact, because the progress of
 * the run is unknown; it does nothing on a host without build requests.
 */
export const gatherLogsAtTheEnd = step({
  ...gathering,
  id: 'layering/gather-logs-at-the-end',
  title: 'Gather the logs of the image builds, also after a failure',
  when: buildsOsImages,
  run: async (scope) => {
    const setAside = await scope.host.list(asideFolders.osConfigs, scope.signal);
    if (setAside.length > 0 && !(await isGathered(scope))) await gather(scope, 'after a failure');
  },
});

/** The build is removed, and its logs were gathered before. */
async function isGathered({ host, signal }: GatherScope): Promise<boolean> {
  if ((await host.realPath(stagingPlaces.work, signal)) !== undefined) return false;
  return (await host.readText(`${bundleFolder}/index.txt`, signal)) !== undefined;
}

/** Logs are never worth an installation: a failure to gather them is a warning. */
async function gather(scope: GatherScope, occasion: string): Promise<void> {
  const { host, signal, config, note } = scope;
  const run = (argv: readonly string[]): Promise<unknown> =>
    host.exec(argv, { signal, limit: minutes(2) });
  try {
    await run(folderArgv);
    const known = await readCredentials(scope);
    for (const secret of known.flatMap(({ secrets }) => secrets)) scope.hide(secret);
    const hide: Hide = (text) => withoutSecretLooks(scope.mask(text));
    const sources = known.map(({ from, registries }) => ({ from, registries }));
    const own = { 'credentials.json': () => Promise.resolve(JSON.stringify(sources, null, 2)) };
    const kube = { podLog: scope.kube.podLog, list: listedOnce(scope.kube) };
    const reach = { ...scope, kube, own, showsFailures: true };
    const bundle = openBundle(reach, hide);
    const found = collectorsOf('builds').map((row) => rowsOf(row, reach));
    const rows = (await Promise.all(found)).flat();
    // Large ones in turn, the others in parallel: the host reboots soon.
    for (const row of rows) if ('file' in row.from) await bundle.add(row);
    await Promise.all(rows.filter(({ from }) => !('file' in from)).map(bundle.add));
    await bundle.close(`gathered ${occasion}`);
    for (const argv of copyCommands(config.cluster.hostId)) await run(argv);
  } catch (error) {
    noteFailed({ signal, note }, 'the logs of the image builds are not gathered', error);
  }
}

/** Opens the bundle of this host. */
export function openBundle(
  reach: LogReach & Pick<GatherScope, 'host'>,
  hide: Hide,
  mostBytes = longestBundle,
) {
  const { host, signal } = reach;
  const index: string[] = [];
  let room = mostBytes;
  const write = (name: string, text: string): Promise<unknown> =>
    host.writeFile(`${bundleFolder}/${name}`, text, { signal, mode: 0o600 });
  return {
    /**
     * Writes the text of a row. An unreadable text is listed in the index instead; a missing one in
     * neither.
     */
    add: async (row: Collector): Promise<void> => {
      const { name } = row;
      const found = await collect(row, reach, hide);
      signal.throwIfAborted();
      if ('missing' in found) {
        if (!found.isAbsent) index.push(`${name}: ${found.missing}`);
        return;
      }
      const text = lastPart(found.text, Math.min(row.mostBytes, room));
      room = Math.max(0, room - text.length);
      try {
        await write(name, text);
        index.push(`${name}: ${text.length} of ${found.size} bytes`);
      } catch (error) {
        signal.throwIfAborted();
        index.push(`${name}: ${asAgentError(error).message}`);
      }
    },
    /** Writes the index with a title, as the last entry. */
    close: async (title: string): Promise<void> => {
      await write('index.txt', `${[title, ...index].join('\n')}\n`);
    },
  };
}

type PullSecretFile = PullSecretContent & { readonly from: string };

/** Reads every credential that layering uses, so that each can be masked in the gathered logs. */
async function readCredentials({ host, signal }: GatherScope): Promise<readonly PullSecretFile[]> {
  const found: PullSecretFile[] = [];
  for (const path of [PULL_SECRET_PATH, stagingFiles.authFile]) {
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsIn(text) });
  }
  for (const name of await host.list(asideFolders.secrets, signal)) {
    const path = `${asideFolders.secrets}/${name}`;
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsOf({ path, text }) });
  }
  return found;
}

/**
 * The values of a Secret are masked as a whole too: another format than the usual ones is a secret
 * as well.
 */
function credentialsOf(file: SourceFile): PullSecretContent {
  try {
    const members = readObjects(file)
      .flatMap(({ value }) => Object.entries(secretTexts(value)))
      .filter(([, text]) => isLongEnough(text));
    const parts = members.map(([key, text]) =>
      credentialsIn(key === '.dockercfg' ? `{"auths":${text}}` : text),
    );
    return {
      registries: parts.flatMap(({ registries }) => registries),
      secrets: [
        ...members.map(([, text]) => new Secret(text)),
        ...parts.flatMap(({ secrets }) => secrets),
      ],
    };
  } catch {
    // A text that cannot be parsed is secret as a whole.
    return credentialsIn(file.text);
  }
}
