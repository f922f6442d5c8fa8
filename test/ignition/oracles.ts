import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ignitionMerge } from '../../scripts/parts/oracles.ts';
import { type CachedPart, partFolder } from '../../scripts/parts/part.ts';
import { lintConfig } from '../../src/ignition/parse.ts';
import { AgentError } from '../../src/model/failure.ts';

/** The answer of Ignition's own code to a request. */
interface MergeAnswer {
  readonly merged?: unknown;
  readonly error?: string;
  readonly report?: string;
}

/** Ignition's own code: merges two configs, or validates one. */
export interface MergeOracle {
  readonly ask: (parent: unknown, child?: unknown) => Promise<MergeAnswer>;
  readonly stop: () => Promise<void>;
}

/** Starts the program with Ignition's code. A string is sent unchanged, other values as JSON. */
export function startMergeOracle(): MergeOracle {
  const { ask, stop } = startOracle(ignitionMerge);
  const asText = (config: unknown): string =>
    typeof config === 'string' ? config : JSON.stringify(config);
  return {
    ask: async (parent, override) =>
      (await ask({
        parent: asText(parent),
        ...(override === undefined ? {} : { child: asText(override) }),
      })) as MergeAnswer,
    stop,
  };
}

/** Starts a program that answers each line of JSON with another. */
export function startOracle(part: CachedPart) {
  const binary = join(partFolder(part), 'bin', part.name);
  const child = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    ask: async (request: unknown): Promise<unknown> => {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`${binary} ended`);
      return JSON.parse(answer.value);
    },
    stop: (): Promise<void> => {
      child.stdin.end();
      return ended;
    },
  };
}

/** Our verdict on a config, and the reason. */
interface OurVerdict {
  readonly isValid: boolean;
  readonly code?: string;
  readonly rules: readonly string[];
}

/** Validates a config as the product does; a string is used unchanged, other values as JSON. */
export function verify(config: unknown): OurVerdict {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  try {
    const rules = lintConfig(text).findings.map(({ rule }) => rule);
    return { isValid: rules.length === 0, rules };
  } catch (failure) {
    if (!(failure instanceof AgentError)) throw failure;
    return { isValid: false, code: failure.code, rules: [] };
  }
}

/** A config as spec 3.5.0, without empty members that mean nothing. */
export function asNewest(config: unknown): unknown {
  const { ignition, ...sections } = (
    typeof config === 'string' ? JSON.parse(config) : config
  ) as Record<string, object>;
  return withoutEmpty({ ...sections, ignition: { ...ignition, version: '3.5.0' } });
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, withoutEmpty(member)] as const)
      .filter(([, member]) => typeof member !== 'object' || Object.keys(member ?? {}).length > 0),
  );
}
