import type { SettingKey } from './keys.ts';
import type { Given, Layer } from './layer.ts';

/**
 * What podman tells a privileged container of itself (podman-run(1), "/run/.containerenv"): lines of
 * `name="value"`. An unprivileged container has an empty file, and docker has none.
 */
export const containerFile = '/run/.containerenv';

/**
 * Settings that follow from the container in which the program runs: its own image. An image that
 * was built on this host cannot be pulled by another one, so it counts as unknown.
 */
export function containerLayer(text: string): Layer {
  const settings = new Map<SettingKey, Given>();
  const image = /^image="([^"\\]+)"$/m.exec(text)?.[1] ?? '';
  if (image !== '' && !image.startsWith('localhost/')) {
    settings.set('images.self', { value: image, origin: 'container' });
  }
  return settings;
}
