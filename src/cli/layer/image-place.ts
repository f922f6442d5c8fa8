import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '../../adapters/clock.ts';
import { ownOrHost } from '../../adapters/host-root.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import type { Environment } from '../../config/environment.ts';
import { proxiesIn } from '../../config/load.ts';
import type { ImageStore } from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { mergePullSecrets } from '../../layering/registry/credentials.ts';
import { NODE_PULL_SECRET_PATH } from '../../layering/manifests/served-config.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { proxyEnv } from '../../lib/proxies.ts';
import { minutes } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import type { ImageWork } from '../../steps/layering/image-work.ts';
import { printError, printNote } from '../messages.ts';
import { runningHost } from '../running-host.ts';
import { readSource } from './files.ts';

/** Where images are built, and with what credentials; what it made is removed with it. */
export interface ImagePlace extends AsyncDisposable {
  readonly work: ImageWork;
  readonly scratch: string;
  readonly store?: ImageStore;
  /** To pull with. */
  readonly access: { readonly authFile?: string };
  /** To push with; the same without it. */
  readonly pushAccess?: { readonly authFile?: string };
}

/** What of a command line says where. */
export interface PlaceCall {
  /** Registry credentials, in the form of a pull secret; default: those of the user. */
  readonly authfile?: string;
  /** Credentials to push the image with; of `layer build`, which does not push it without. */
  readonly pushAuthfile?: string;
  /** Directory for the images; default: the storage of the user. */
  readonly storage?: string;
  readonly environment: Environment;
}

/** The machine of the user, with its own programs. */
export async function placeOnThisMachine(
  call: PlaceCall,
  signal: AbortSignal,
): Promise<ImagePlace> {
  const { authfile, pushAuthfile, storage, environment } = call;
  const texts = [await credentialsIn(authfile), await credentialsIn(pushAuthfile)];
  const scratch = await mkdtemp(join(tmpdir(), 'bootwright-layer-'));
  const work = workOn(localHost({ environment }), proxyFree, signal);
  const [access = {}, pushAccess] = texts.map((read) => read && { authFile: resolve(read.path) });
  const store = storage === undefined ? undefined : storeIn(storage, environment);
  if (store !== undefined) await prepareRunRoot(store);
  return {
    work,
    scratch,
    access,
    ...(pushAccess === undefined ? {} : { pushAccess }),
    ...(store === undefined ? {} : { store }),
    [Symbol.asyncDispose]: () => rm(scratch, { recursive: true, force: true }),
  };
}

/** Commands inherit the proxies of the user, and so do builds. */
const proxyFree: readonly string[] = [];

/** Where images lie on the host of a container unless given. */
const hostStorage = '/var/lib/bootwright-build';

/** Gigabytes of small files. */
const longestRemoval = minutes(5);

/**
 * The host of a privileged container with its namespace of processes: its programs, its trust, and
 * its pull secret where no other is given. All lies in one folder, which is empty before and gone
 * afterwards: what a killed build left goes first.
 */
export async function placeOnHost(call: PlaceCall, signal: AbortSignal): Promise<ImagePlace> {
  const { authfile, pushAuthfile, environment, storage: folder = hostStorage } = call;
  const [pull, push] = [await credentialsIn(authfile), await credentialsIn(pushAuthfile)];
  const variables = proxyEnv(proxiesIn(environment));
  const host = await runningHost(environment);
  const proxies = Object.keys(variables).filter((name) => name === name.toUpperCase());
  const work = workOn(host, proxies, signal);
  const scratch = `${folder}/scratch`;
  const store = storeIn(`${folder}/images`, {});
  const clear = async (): Promise<void> => {
    const { signal: unstopped } = new AbortController();
    // The credentials first: a pod that is stopped has 30 s, and the images are many files.
    for (const place of [scratch, folder]) {
      await host
        .exec(['rm', '-rf', '--one-file-system', place], {
          signal: unstopped,
          limit: longestRemoval,
        })
        .catch((error: unknown) => {
          work.note('warn', `${place} could not be removed`, { reason: String(error) });
        });
    }
  };
  await clear();
  const folders = [folder, scratch, store.storage, store.run];
  const limit = minutes(1);
  await host.exec(['install', '--directory', '--mode', '0700', ...folders], { signal, limit });
  const written = async (name: string, text: string): Promise<{ readonly authFile: string }> => {
    const authFile = `${scratch}/${name}.json`;
    await host.writeFile(authFile, text, { signal, mode: 0o600 });
    return { authFile };
  };
  const ofNode = async (): Promise<ImagePlace['access']> => {
    const text = await host.readText(NODE_PULL_SECRET_PATH, signal);
    return text === undefined ? {} : { authFile: NODE_PULL_SECRET_PATH };
  };
  return {
    work,
    scratch,
    store,
    access: pull === undefined ? await ofNode() : await written('pull', pull.text),
    ...(push === undefined ? {} : { pushAccess: await written('push', push.text) }),
    [Symbol.asyncDispose]: clear,
  };
}

interface Credentials {
  readonly path: string;
  readonly text: string;
}

/** The keys of a Secret, as it is mounted into a pod. */
const secretKeys = { current: '.dockerconfigjson', older: '.dockercfg' } as const;

/**
 * The credentials in a file, or in the folder of a mounted Secret. Those that cannot be read would
 * be missed only once something is built.
 * @throws AgentError `config.file-not-read`, `layering.bad-credentials`
 */
async function credentialsIn(given: string | undefined): Promise<Credentials | undefined> {
  if (given === undefined) return undefined;
  const path = await ownOrHost(given);
  const found = (key = '') => stat(join(path, key)).catch(() => undefined);
  const isMounted = (await found())?.isDirectory() === true;
  const has = async (key: string): Promise<boolean> => (await found(key)) !== undefined;
  const isOlder = isMounted && !(await has(secretKeys.current)) && (await has(secretKeys.older));
  const key = isOlder ? secretKeys.older : secretKeys.current;
  const { path: from, text } = await readSource(isMounted ? join(path, key) : path);
  const read = isOlder ? `{"auths":${text}}` : text;
  mergePullSecrets([{ from, text: read }]);
  return { path: from, text: read };
}

const workOn = (host: Host, buildArguments: readonly string[], signal: AbortSignal): ImageWork => ({
  host,
  clock: systemClock,
  signal,
  buildArguments,
  progress: ({ info }) => {
    printError(`${plainLine(info)}\n`);
  },
  // Whoever runs the command sees that it runs.
  alive: () => undefined,
  note: (level, message, { reason } = {}) => {
    if (level === 'debug') return;
    const kind = level === 'info' ? 'note' : 'warning';
    printNote(kind, reason === undefined ? message : `${message}: ${String(reason)}`);
  },
});

/** podman takes no longer name for its run root. */
const longestRun = 50;

/**
 * The store of images in a folder. Its run root is the same each time, as podman keeps its name in
 * the store, and is never removed: another command may use the same store.
 */
export function storeIn(folder: string, environment: Environment): ImageStore {
  const storage = resolve(folder);
  const sum = createHash('sha256').update(storage).digest('hex').slice(0, 12);
  const { XDG_RUNTIME_DIR: session = '' } = environment;
  const places = [
    ...(session === '' ? [] : [join(session, 'bootwright', sum)]),
    join(storage, 'run'),
  ];
  const run = places.find(({ length }) => length <= longestRun);
  return { storage, run: run ?? join(tmpdir(), `bootwright-${process.getuid?.() ?? 0}-${sum}`) };
}

/** A link has these bits as well. */
const writableByOthers = 0o022;

/**
 * Creates the run root, which may be in a directory that everybody can write to.
 * @throws AgentError `layering.store-taken` when it belongs to another user
 */
export async function prepareRunRoot({ run }: ImageStore): Promise<void> {
  await mkdir(run, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(run);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (isOurs && (mode & writableByOthers) === 0) return;
  throw layeringFailure('layering.store-taken', `${run} belongs to another user`);
}
