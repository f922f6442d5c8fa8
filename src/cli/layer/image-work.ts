import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '../../adapters/clock.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import type { Environment } from '../../config/environment.ts';
import type { Builder } from '../../layering/image/builder.ts';
import { buildSettings, type MachineConfig } from '../../layering/machine-config.ts';
import { mergePullSecrets } from '../../layering/registry/credentials.ts';
import type { MachineOSConfig } from '../../layering/os-config/types.ts';
import { findBuilder } from '../../steps/layering/images/find-builder.ts';
import type { ImageWork } from '../../steps/layering/images/work.ts';
import { stopSignal } from '../stop-signal.ts';
import { prepareRunRoot, storeIn } from './image-store.ts';
import { type BuildFiles, readBuildFiles } from './read-build-files.ts';
import { readSource } from './read-source.ts';
import { say } from './say.ts';

/** What `layer build` and `layer push` are asked for. */
export interface ImageCall extends BuildFiles {
  /** Credentials of registries, in the form of a pull secret; those of the user without it. */
  readonly authfile?: string;
  /** Folder for the images; the store of the user without it. */
  readonly storage?: string;
  readonly environment: Environment;
}

/** What both work on. */
export interface ImageJob {
  readonly work: ImageWork;
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
  readonly builder: Builder;
  readonly scratch: string;
  readonly access: { readonly authFile?: string };
  /** The mirrors of the machines, where their MachineConfig has any. */
  readonly mirrors: { readonly registries?: string };
}

/**
 * Reads the files, finds the program that builds on this machine, and calls `run`. What happens is told on standard
 * error; a stop ends it by the code of the signal.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function onThisMachine(
  call: ImageCall,
  run: (job: ImageJob) => Promise<void>,
): Promise<number> {
  const files = await readBuildFiles(call);
  const access = await accessBy(call.authfile);
  using stop = stopSignal();
  const scratch = await mkdtemp(join(tmpdir(), 'bootwright-layer-'));
  try {
    const work = toldWork(call.environment, stop.signal);
    const { name, reason } = await findBuilder(work);
    work.note('info', `images are built with ${name}: ${reason}`);
    const builder = { name, ...(await storeFor(call)) };
    const mirrors = await writeMirrors(files.machineConfig, scratch);
    await run({ work, ...files, builder, scratch, access, mirrors });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw thrown;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function writeMirrors(
  machineConfig: MachineConfig,
  scratch: string,
): Promise<ImageJob['mirrors']> {
  const settings = buildSettings(machineConfig).get('registries.conf');
  if (settings === undefined) return {};
  const registries = join(scratch, 'registries.conf');
  await writeFile(registries, settings);
  return { registries };
}

/** Credentials that cannot be read would be missed only once something is built. */
async function accessBy(authfile: string | undefined): Promise<ImageJob['access']> {
  if (authfile === undefined) return {};
  const { path, text } = await readSource(authfile);
  mergePullSecrets([{ from: path, text }]);
  return { authFile: resolve(path) };
}

async function storeFor({ storage, environment }: ImageCall): Promise<Pick<Builder, 'store'>> {
  if (storage === undefined) return {};
  const store = storeIn(storage, environment);
  await prepareRunRoot(store);
  return { store };
}

function toldWork(environment: Environment, signal: AbortSignal): ImageWork {
  const tell = (text: string): void => {
    process.stderr.write(`${text}\n`);
  };
  return {
    host: localHost({ environment }),
    clock: systemClock,
    signal,
    // Commands get the proxies of the user anyway.
    env: {},
    progress: ({ info }) => tell(info),
    note: (level, message, { reason } = {}) => {
      if (level === 'debug') return;
      const kind = level === 'info' ? 'note' : 'warning';
      say(kind, reason === undefined ? message : `${message}: ${String(reason)}`);
    },
  };
}
