import { Secret } from '../../model/secret.ts';
import { masker } from '../../lib/masker.ts';
import { shownText } from '../../lib/shown-url.ts';
import type { InstallState } from '../install-state.ts';

/** Secrets are longer than this; words of a configuration that may be printed are shorter. */
const shortestSecret = 12;

/**
 * Masks in the installer's output the secrets of its install-config and its state, and passwords of
 * addresses: it quotes a proxy that it cannot read.
 */
export function installerMask({
  config = '',
  state = '',
}: Partial<InstallState>): (text: string) => string {
  const { mask, register } = masker();
  const secrets = [config, state].flatMap((text) => [
    ...text.matchAll(/pullSecret\\?"?:\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S.*))/g),
    ...text.matchAll(/"(?:auth|password|token)\\*":\s*\\*"()()([^"\\]+)/g),
  ]);
  for (const found of secrets) {
    const value = found.slice(1).find((one) => Boolean(one)) ?? '';
    if (value.length >= shortestSecret) register(new Secret(value));
  }
  return (text) => shownText(mask(text));
}
