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

/** Where images are built, and with what credentials; what it made is removed with it. */
export interface ImagePlace extends AsyncDisposable {
  readonly work: ImageWork;
  readonly scratch: string;
  readonly store: ImageStore | undefined;
  /** Names of build arguments beside the variables that commands inherit. */
  readonly buildArguments: readonly string[];
  /** To pull with. */
  readonly access: RegistryAccess;
  /** To push with; undefined where nothing is pushed. */
  readonly pushAccess: RegistryAccess | undefined;
}

/** The options of a command line that say where. */
export interface PlaceCall {
  /** Registry credentials, in the form of a pull secret; default: those of the user. */
  readonly authfile?: string;
  /** Credentials to push the image with; of `layer build`, which does not push it without. */
  readonly pushAuthfile?: string;
  /** Directory for the images; default: the storage of the user. */
  readonly storage?: string;
  readonly environment: Environment;
}

/** The machine of the user, with its own programs; builds inherit the proxies of the user. */
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
 * The host of a privileged container with its namespace of processes: its programs, its trust, and
 * its pull secret where no other is given. All lies in one folder, which is empty before and gone
 * afterwards: what a killed build left goes first.
 */
export async function placeOnHost(
  { authfile, pushAuthfile, environment, storage = '/var/lib/bootwright-build' }: PlaceCall,
  signal: AbortSignal,
): Promise<ImagePlace> {
  const [pull, push] = [await credentialsIn(authfile), await credentialsIn(pushAuthfile)];
  const host = await runningHost(environment);
  const work = workOn(host, signal);
  const scratch = `${storage}/scratch`;
  const store = { storage: `${storage}/images`, run: `${storage}/run` };
  const clear = async (): Promise<void> => {
    const { signal: unstopped } = new AbortController();
    // The credentials first: a pod that is stopped has 30 s, and the images are many files.
    for (const folder of [scratch, storage]) {
      const argv = ['rm', '-rf', '--one-file-system', folder];
      await host.exec(argv, { signal: unstopped, limit: minutes(5) }).catch((error: unknown) => {
        work.note('warn', `${folder} could not be removed`, { reason: String(error) });
      });
    }
  };
  await clear();
  const folders = [storage, scratch, store.storage, store.run];
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
 * The credentials in a file, or in the folder of a mounted Secret. Those that cannot be read would
 * be missed only once something is built.
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
  // The user sees that the command runs.
  alive: () => undefined,
  note: (level, message, { reason } = {}) => {
    if (level === 'debug') return;
    const kind = level === 'info' ? 'note' : 'warning';
    printNote(kind, reason === undefined ? message : `${message}: ${String(reason)}`);
  },
});

/**
 * The store of images in a folder. Its run root is short, as podman wants it, and the same each
 * time, as podman keeps its name in the store. It is never removed: another command may use the
 * same store.
 */
export function storeIn(folder: string): ImageStore {
  const storage = resolve(folder);
  const sum = createHash('sha256').update(storage).digest('hex').slice(0, 12);
  return { storage, run: join(tmpdir(), `bootwright-${process.getuid?.() ?? 0}-${sum}`) };
}

/** A link has these bits as well. */
const writableByOthers = 0o022;

/**
 * Creates the run root, in a directory that everybody can write to.
 * @throws AgentError `layering.store-taken` when it belongs to another user
 */
export async function prepareRunRoot(run: string): Promise<void> {
  await mkdir(run, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(run);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (isOurs && (mode & writableByOthers) === 0) return;
  throw layeringFailure('layering.store-taken', `${run} belongs to another user`);
}
