/** An entry of registries.conf with what stands in for it. */
interface MirroredPrefix {
  readonly prefix: string;
  readonly mirrors: readonly string[];
}

/**
 * The places at which an image is looked for, in their order: mirrors of the longest prefix, then the place itself
 * (containers-registries.conf(5), version 2). No more of the format is read than the agent and the lab write.
 */
export function placesOf(settings: string, image: string): readonly string[] {
  const [found] = entriesIn(settings)
    .filter(({ prefix }) => isBelow(image, prefix))
    .toSorted((one, other) => other.prefix.length - one.prefix.length);
  if (found === undefined) return [image];
  const rest = image.slice(found.prefix.length);
  return [...found.mirrors.map((mirror) => `${mirror}${rest}`), image];
}

const isBelow = (image: string, prefix: string): boolean =>
  prefix !== '' && image.startsWith(prefix) && /^([/:@]|$)/.test(image.slice(prefix.length));

function entriesIn(settings: string): readonly MirroredPrefix[] {
  return settings
    .split(/^\[\[registry\]\]$/m)
    .slice(1)
    .map((entry) => {
      const [own = '', ...mirrors] = entry.split(/^\s*\[\[registry\.mirror\]\]$/m);
      return {
        prefix: valueIn(own, 'prefix') ?? valueIn(own, 'location') ?? '',
        mirrors: mirrors.flatMap((mirror) => valueIn(mirror, 'location') ?? []),
      };
    });
}

const valueIn = (text: string, key: string): string | undefined =>
  new RegExp(`^\\s*${key}\\s*=\\s*"([^"]*)"`, 'm').exec(text)?.[1];
