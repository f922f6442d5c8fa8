import { Secret } from '../model/secret.ts';
import { type Masker, masker } from './masker.ts';
import { SecretUrl } from './secret-url.ts';
import { hiddenInWords } from './shown-url.ts';

/** A shorter part of a URL would also match harmless text. */
const shortestPart = 6;

/** A masker with every secret of some settings. */
export function maskerFor(settings: object): Masker {
  const secrets = masker();
  for (const secret of secretValues(settings)) secrets.register(secret);
  return secrets;
}

/** All secrets in the sections of settings, also those in URLs. */
export function secretValues(settings: object): readonly Secret[] {
  const leaves = Object.values(settings)
    .flatMap((section: unknown) => Object.values(section as object) as unknown[])
    .flat();
  const texts = leaves
    .map((leaf) => (leaf instanceof SecretUrl ? leaf.reveal() : leaf))
    .filter((leaf) => typeof leaf === 'string');
  const parts = hiddenInWords(texts).filter(({ length }) => length >= shortestPart);
  return [
    ...leaves.filter((leaf) => leaf instanceof Secret),
    ...parts.map((part) => new Secret(part)),
  ];
}
