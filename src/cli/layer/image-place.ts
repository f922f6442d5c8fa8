import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '../../adapters/clock.ts';
import { ownOrHost } from '../../adapters/host-root.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import type { Environment } from '../../config/environment.ts';
import { proxiesIn } from '../../config/load.ts';
import type { ImageStore, RegistryAccess } from '../../layering/build/container-tools.ts';
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

/** The place where images are built, with its credentials. Disposing of it removes its files. */
export interface ImagePlace extends AsyncDisposable {
  readonly work: ImageWork;
  readonly scratch: string;
  readonly store: ImageStore | undefined;
  /** Names of the build arguments in addition to the variables that commands inherit. */
  readonly buildArguments: readonly string[];
  /** Credentials to pull. */
  readonly access: RegistryAccess;
  /** Credentials to push; undefined where no image is pushed. */
  readonly pushAccess: RegistryAccess | undefined;
}

/** Options of a command line about the place of a build. */
export interface PlaceCall {
  /** Registry credentials, in the form of a pull secret; default: the user's credentials. */
  readonly authfile?: string;
  /** Credentials to push the image. Only `layer build` has them; without them it does not push. */
  readonly pushAuthfile?: string;
  /** Directory for the images; default: the storage of the user. */
  readonly storage?: string;
  readonly environment: Environment;
}

/** The user's machine with its own programs. Builds inherit the user's proxies. */
export async function placeOnThisMachine(
  { authfile, pushAuthfile, storage, environment }: PlaceCall,
  signal: AbortSignal,
): Promise<ImagePlace> {
  const [pull, push] = [await credentialsIn(authfile), await credentialsIn(pushAuthfile)];
  const store = storage === undefined ? undefined : storeIn(storage);
  if (store !== undefined) await prepareRunRoot(store.run);
  const scratch = await mkdtemp(join(tmpdir(), 'bootwright-layer-'));
  return {
    work: workOn(localHost({ environment }), signal),
    scratch,
    store,
    buildArguments: [],
    access: pull === undefined ? {} : { authFile: resolve(pull.path) },
    pushAccess: push && { authFile: resolve(push.path) },
    [Symbol.asyncDispose]: () => rm(scratch, { recursive: true, force: true }),
  };
}

/**
 * The host of a privileged container in the host's PID namespace, with the host's programs and
 * trust, and its pull secret if no other is given. All files are in one folder, which has nothing
 * else. It is emptied first, because a killed build may have left files, and removed afterwards.
 */
export async function placeOnHost(
  { authfile, pushAuthfile, environment, storage = '/var/lib' }: PlaceCall,
  signal: AbortSignal,
  openHost: (environment: Environment) => Promise<Host> = runningHost,
): Promise<ImagePlace> {
  const [pull, push] = [await credentialsIn(authfile), await credentialsIn(pushAuthfile)];
  const host = await openHost(environment);
  const work = workOn(host, signal);
  const folder = `${storage}/bootwright-build`;
  const scratch = `${folder}/scratch`;
  const store = { storage: `${folder}/images`, run: `${folder}/run` };
  const clear = async (): Promise<void> => {
    const { signal: unstopped } = new AbortController();
    // Remove the credentials first: a pod has 30 s to stop, and the images are many files.
    for (const path of [scratch, folder]) {
      const argv = ['rm', '-rf', '--one-file-system', path];
      await host.exec(argv, { signal: unstopped, limit: minutes(5) }).catch((error: unknown) => {
        work.note('warn', `${path} could not be removed`, { reason: String(error) });
      });
    }
  };
  await clear();
  const folders = [folder, scratch, store.storage, store.run];
  const limit = minutes(1);
  await host.exec(['install', '--directory', '--mode', '0700', ...folders], { signal, limit });
  const written = async (name: string, text: string): Promise<RegistryAccess> => {
    const authFile = `${scratch}/${name}.json`;
    await host.writeFile(authFile, text, { signal, mode: 0o600 });
    return { authFile };
  };
  const hasPullSecret = (await host.realPath(NODE_PULL_SECRET_PATH, signal)) !== undefined;
  const ofNode = hasPullSecret ? { authFile: NODE_PULL_SECRET_PATH } : {};
  return {
    work,
    scratch,
    store,
    buildArguments: Object.keys(proxyEnv(proxiesIn(environment))).filter(
      (name) => name === name.toUpperCase(),
    ),
    access: pull === undefined ? ofNode : await written('pull', pull.text),
    pushAccess: push && (await written('push', push.text)),
    [Symbol.asyncDispose]: clear,
  };
}

/**
 * Reads credentials from a file, or from the folder of a mounted Secret. They are read before the
 * build: otherwise unreadable credentials would fail only after it.
 * @throws AgentError `config.file-not-read`, `layering.bad-credentials`
 */
async function credentialsIn(
  given: string | undefined,
): Promise<{ readonly path: string; readonly text: string } | undefined> {
  if (given === undefined) return undefined;
  const folder = await ownOrHost(given);
  const found = (path: string) => stat(path).catch(() => undefined);
  const isMounted = (await found(folder))?.isDirectory() === true;
  const current = join(folder, '.dockerconfigjson');
  const older = join(folder, '.dockercfg');
  const isOlder = isMounted && !(await found(current)) && (await found(older)) !== undefined;
  const { path, text } = await readSource(isMounted ? (isOlder ? older : current) : folder);
  const secret = isOlder ? `{"auths":${text}}` : text;
  mergePullSecrets([{ from: path, text: secret }]);
  return { path, text: secret };
}

const workOn = (host: Host, signal: AbortSignal): ImageWork => ({
  host,
  clock: systemClock,
  signal,
  progress: ({ info }) => {
    printError(`${plainLine(info)}\n`);
  },
  // The user sees that the command runs, so no report is needed.
  alive: () => undefined,
  note: (level, message, { reason } = {}) => {
    if (level === 'debug') return;
    const kind = level === 'info' ? 'note' : 'warning';
    printNote(kind, reason === undefined ? message : `${message}: ${String(reason)}`);
  },
});

/**
 * The store of images in a folder. Its run root has a short path, as podman requires, and always
 * the same path, as podman records it in the store. It is never removed: another command may use
 * the same store.
 */
export function storeIn(folder: string): ImageStore {
  const storage = resolve(folder);
  const sum = createHash('sha256').update(storage).digest('hex').slice(0, 12);
  return { storage, run: join(tmpdir(), `bootwright-${process.getuid?.() ?? 0}-${sum}`) };
}

/** A symbolic link has these mode bits too. */
const writableByOthers = 0o022;

/**
 * Creates the run root in a directory to which every user can write.
 * @throws AgentError `layering.store-taken` if it belongs to another user
 */
export async function prepareRunRoot(run: string): Promise<void> {
  await mkdir(run, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(run);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (isOurs && (mode & writableByOthers) === 0) return;
  throw layeringFailure('layering.store-taken', `${run} belongs to another user`);
}
