import { parseConfig, parseValidConfig } from '../../src/ignition/parse.ts';
import { validateConfig } from '../../src/ignition/validate.ts';
import { AgentError } from '../../src/model/failure.ts';

/** Our verdict on a config, and why. */
export interface OurVerdict {
  readonly isValid: boolean;
  readonly code?: string;
  readonly rules: readonly string[];
}

/** Judges a config as the product does; a string is taken as it is, other values as JSON. */
export function judge(config: unknown): OurVerdict {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  try {
    const { warnings } = parseValidConfig(text);
    return { isValid: true, rules: warnings.map(({ rule }) => rule) };
  } catch (failure) {
    if (!(failure instanceof AgentError)) throw failure;
    return { isValid: false, code: failure.code, rules: rulesOf(text) };
  }
}

/** All rules that are broken, where the config can be read at all. */
function rulesOf(text: string): string[] {
  try {
    return validateConfig(parseConfig(text).config).map(({ rule }) => rule);
  } catch (failure) {
    if (failure instanceof AgentError) return [String(failure.context['rule'] ?? failure.code)];
    throw failure;
  }
}
