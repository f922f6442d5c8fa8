import { Secret } from '../model/secret.ts';
import { type Masker, masker } from './masker.ts';
import { SecretUrl } from './secret-url.ts';
import { hiddenInWords } from './shown-url.ts';

/** A part of an address that is shorter would be found in harmless text too. */
const shortestPart = 6;

/** A masker that knows every secret of some settings. */
export function maskerFor(settings: object): Masker {
  const secrets = masker();
  for (const secret of secretValues(settings)) secrets.register(secret);
  return secrets;
}

/** Every secret that settings in sections hold, those in the addresses among them included. */
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
