import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { asAgentError } from '../engine/failures.ts';
import { type Emit, notesOf } from '../engine/events.ts';
import { installerMask } from '../lib/installer-mask.ts';
import { minutes, renderDuration } from '../model/duration.ts';
import { AgentError } from '../model/failure.ts';
import { ifPresent } from './file-access.ts';
import { processIdentity } from './status-file.ts';
import type { Host } from '../ports/host.ts';
import {
  discarded,
  type InstallFiles,
  type Installer,
  installerFailure,
  type InstallInputs,
  type InstallerRun,
  installerRuns,
  madeFiles,
} from '../ports/installer.ts';

/** It takes seconds; the rest is for a machine with much else to do. */
const limit = minutes(10);

/**
 * The program that `OPENSHIFT_INSTALL` names. What killed processes left of their runs is removed,
 * since it is secret.
 */
export function payloadInstaller(
  program: string,
  { host, emit }: { readonly host: Pick<Host, 'exec'>; readonly emit: Emit },
): Installer {
  const removed = removeLeftovers().catch(() => undefined);
  return {
    make: async (inputs, signal) => {
      await removed;
      const runs = installerRuns(inputs);
      const folder = await mkdtemp(join(tmpdir(), `bootwright-installer-${await ownerText()}-`));
      const mask = installerMask(inputs);
      try {
        for (const run of runs) {
          await lay(folder, run);
          await runOnce({ program, folder, run, inputs, mask, host, emit }, signal);
        }
        return await filesIn(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/**
 * Tells a process of this namespace of processes from every other one; with a pid that nobody has,
 * nothing does.
 */
async function ownerText(pid = process.pid): Promise<string> {
  const [namespace = ''] = /\d+/.exec(await readlink('/proc/self/ns/pid')) ?? [];
  const { startTicks = 0, bootId = '' } = processIdentity(pid) ?? {};
  return `${namespace}-${pid}-${startTicks}-${bootId}`;
}

/** Folders of processes of another namespace stay: whether those run cannot be seen from here. */
async function removeLeftovers(): Promise<void> {
  const [namespace] = (await ownerText()).split('-');
  for (const name of await readdir(tmpdir())) {
    const [, owner = '', of, pid] =
      /^bootwright-installer-((\d+)-(\d+)-\d+-[\da-f-]*)-\w{6}$/.exec(name) ?? [];
    if (of !== namespace || owner === (await ownerText(Number(pid)))) continue;
    const folder = join(tmpdir(), name);
    const found = await lstat(folder);
    if (found.isDirectory() && found.uid === process.getuid?.())
      await rm(folder, { recursive: true, force: true });
  }
}

async function lay(folder: string, { files }: InstallerRun): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, content, { mode: 0o600 });
  }
}

interface OneRun {
  readonly program: string;
  readonly folder: string;
  readonly run: InstallerRun;
  readonly inputs: InstallInputs;
  readonly mask: (text: string) => string;
  readonly host: Pick<Host, 'exec'>;
  readonly emit: Emit;
}

async function runOnce(
  { program, folder, run, inputs, mask, host, emit }: OneRun,
  signal: AbortSignal,
): Promise<void> {
  const lines: string[] = [];
  const note = notesOf(emit, 'control-plane/make-assets');
  const onLine = (text: string): void => {
    const line = mask(text);
    lines.push(line);
    note('debug', `installer: ${line}`);
  };
  const argv = [program, 'create', run.command, '--dir', folder];
  const env = { HOME: folder, OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE: inputs.releaseImage };
  try {
    await host.exec(argv, { signal, limit, onLine, env });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    const what = `openshift-install create ${run.command}`;
    if (error.code === 'command.timed-out')
      throw installerFailure('installer.timed-out', `${what} ran for ${renderDuration(limit)}`);
    if (error.code === 'command.stopped') throw error;
    const last = lines.findLast((line) => /level=(error|fatal)|^(ERROR|FATAL)/.test(line));
    const why = last ?? lines.at(-1) ?? mask(asAgentError(error).message);
    throw installerFailure('installer.failed', `${what}: ${why}`);
  }
  const lost = discarded(lines.join('\n'));
  if (lost !== undefined) throw installerFailure('installer.manifests-discarded', lost);
}

/** The files that count in the folder of the installer. */
export async function filesIn(folder: string): Promise<InstallFiles> {
  const read = async (name: string): Promise<readonly (readonly [string, Uint8Array])[]> => {
    const content = await ifPresent(readFile(join(folder, name)));
    return content === undefined ? [] : [[name, content]];
  };
  const found = await Promise.all(Object.values(madeFiles).map(read));
  return Object.fromEntries(found.flat());
}
