import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { Secret } from '../../model/secret.ts';

const PullSecret = z.object({
  auths: z.record(z.string(), z.record(z.string(), z.unknown())),
});

/** Members of an entry that tell who somebody is, and not how he proves it. */
const harmless = new Set(['username', 'email']);

/** Whether a word is long enough to be taken out: a shorter one would be found in harmless text too. */
export const isTelling = (word: string): boolean => word.length >= 6;

/** What a pull secret is for, and what of it must never be seen. */
export interface Credentials {
  /** Registries, with the paths in them where it names some. */
  readonly registries: readonly string[];
  readonly secrets: readonly Secret[];
}

/** Takes a pull secret apart; of a text that is none, all of it is secret. */
export function credentialsIn(text: string): Credentials {
  const parsed = PullSecret.safeParse(jsonIn(text));
  if (!parsed.success) return { registries: [], secrets: text === '' ? [] : [new Secret(text)] };
  const { auths } = parsed.data;
  const words = Object.values(auths).flatMap((entry) => Object.entries(entry).flatMap(wordsOf));
  return {
    registries: Object.keys(auths),
    secrets: words.filter(isTelling).map((word) => new Secret(word)),
  };
}

/** The member itself and, of `NAME:PASSWORD` in base64, both and the password alone. */
function wordsOf([name, value]: readonly [string, unknown]): readonly string[] {
  if (typeof value !== 'string' || harmless.has(name)) return [];
  if (name !== 'auth') return [value];
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(pair) ?? [];
  return [value, pair, password];
}
