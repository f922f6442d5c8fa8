import { createHash } from 'node:crypto';
import { Secret } from '../model/secret.ts';
import type { Config } from './schema.ts';

/**
 * SHA-256, in lower-case hexadecimal, of everything in a configuration that decides what a run
 * does: secrets and the section `log` are left out, so that a run with a renewed token or a more
 * talkative log goes on where it stopped.
 */
export function fingerprintOf(config: Config): string {
  const deciding = Object.entries(config).filter(([section]) => section !== 'log');
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(deciding)))
    .digest('hex');
}

/** JSON with the keys of every object sorted and secrets left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, part]) => !(part instanceof Secret))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)]);
  return Object.fromEntries(entries);
}
