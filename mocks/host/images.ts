import { createHash } from 'node:crypto';
import type { HeldImage, RegistryNetwork } from '../registries/network.ts';

/** The images that a simulated host can pull, and those that it built. */
export interface HostImages {
  /** Images of every registry by name, with a tag or with a digest. */
  readonly inRegistries: Map<string, HeldImage>;
  /** By name. */
  readonly inStore: Map<string, HeldImage>;
  /** The container of the host's own registry is running. */
  isServing: boolean;
  /** The error of a build; undefined if it succeeds. */
  buildError?: string | undefined;
  /**
   * Registries that several hosts share, and that may refuse access; without it every image is
   * available.
   */
  readonly network?: RegistryNetwork | undefined;
}

/** A host without images of its own. */
export const noImages = (network?: RegistryNetwork): HostImages => ({
  inRegistries: network?.images ?? new Map<string, HeldImage>(),
  inStore: new Map(),
  isServing: false,
  network,
});

/** The digest of an image that is made from a text. */
export const digestOfText = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** Puts an image into a registry, under its name and under its digest. */
export function publish({ inRegistries }: HostImages, name: string, image: HeldImage): void {
  const repository = name.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
  inRegistries.set(name, image);
  inRegistries.set(`${repository}@${image.digest}`, image);
}
