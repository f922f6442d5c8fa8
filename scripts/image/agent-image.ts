import { copyFileSync, linkSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { version } from '../../src/cli/commands.ts';
import { agentImageBase } from '../parts/agent-image.ts';
import { ensurePart } from '../parts/ensure.ts';
import type { ContainerStore } from './container-store.ts';

const top = resolve(import.meta.dirname, '../..');
const debianBase = 'localhost/bootwright-base:debian';

/** The name of the image in the store, unless another is asked for. */
export const agentImageName = 'localhost/bootwright:latest';

/** What the image is built with. */
export interface AgentImageOptions {
  readonly name?: string;
  /** An image that is there or can be pulled; a Debian base is made here without it. */
  readonly base?: string;
}

/** Builds the agent's image from the bundle in `dist` and gives its name. */
export async function buildAgentImage(
  store: ContainerStore,
  { name = agentImageName, base }: AgentImageOptions = {},
): Promise<string> {
  const from = base ?? (await makeDebianBase(store));
  const settings = ['--build-arg', `BASE=${from}`, '--build-arg', `VERSION=${version}`];
  // With layers, a second build of the same bundle finds what the first one made.
  await store.run('buildah', 'build', '--layers', ...settings, '--tag', name, top);
  await store.run('podman', 'image', 'prune', '--force');
  return name;
}

async function makeDebianBase(store: ContainerStore): Promise<string> {
  const rootTar = join(await ensurePart(agentImageBase), 'root.tar');
  const context = mkdtempSync(join(tmpdir(), 'bootwright-base-'));
  try {
    placeInContext(rootTar, join(context, 'root.tar'));
    copyFileSync(join(top, 'images/base/Containerfile'), join(context, 'Containerfile'));
    await store.run('buildah', 'build', '--layers', '--tag', debianBase, context);
  } finally {
    rmSync(context, { recursive: true });
  }
  return debianBase;
}

function placeInContext(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Calls `use` with the folder that a container of an image would have as its root. */
export async function withImageRoot<T>(
  store: ContainerStore,
  image: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const container = await store.run('buildah', 'from', '--pull-never', image);
  try {
    return await use(await store.run('buildah', 'mount', container));
  } finally {
    await store.run('buildah', 'rm', container);
  }
}

/** Size of an image in bytes, not compressed. */
export async function imageBytes(store: ContainerStore, image: string): Promise<number> {
  return Number(await store.run('podman', 'image', 'inspect', '--format', '{{.Size}}', image));
}
