import { Buffer } from 'node:buffer';
import { isFields } from '../lib/fields.ts';
import { elementReader } from '../lib/json.ts';
import { ignitionFailure } from './failures.ts';

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The member of an object by its name; undefined if the value is not an object. */
export const memberOf = (value: unknown, name: string): unknown =>
  isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/**
 * Parses JSON and omits members that are null: they mean the same to Ignition.
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.not-json` (with line and
 * column in its context, if known)
 */
export function parseJson(input: Uint8Array | string): unknown {
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('utf8');
  const [first] = text.trimStart();
  if (first === undefined) throw ignitionFailure('ignition.empty', 'ignition config is empty');
  if (first === '<') {
    throw ignitionFailure('ignition.html-page', 'ignition config is an HTML page');
  }
  try {
    // Deeply nested JSON takes a hundred times its length in memory.
    elementReader({ name: '', take: () => undefined }).write(text);
  } catch (error) {
    throw notJson((error as Error).message, {});
  }
  const parsed = parsedOr(text, (_, value: unknown) => value ?? undefined);
  if (!('message' in parsed)) return parsed.value;
  const [, said, at] = /^([^"]+) (?:in|after) JSON at position (\d+)/.exec(parsed.message) ?? [];
  const before = text.slice(0, at === undefined ? tokenOffset(text) : Number(at)).split('\n');
  const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  throw notJson(said ?? 'Unexpected character', place);
}

function parsedOr(
  text: string,
  reviver?: (name: string, value: unknown) => unknown,
): { readonly value: unknown } | { readonly message: string } {
  try {
    return { value: JSON.parse(text, reviver) };
  } catch (error) {
    return { message: (error as Error).message };
  }
}

/**
 * Offset of the first unexpected token. V8 gives no offset for one, and its message quotes the
 * text, which may be secret. The text before the token is only incomplete.
 */
function tokenOffset(text: string): number {
  let [sound, wrong] = [0, text.length + 1];
  while (wrong - sound > 1) {
    const middle = Math.floor((sound + wrong) / 2);
    const parsed = parsedOr(text.slice(0, middle));
    const isWrong = 'message' in parsed && parsed.message.startsWith('Unexpected token');
    [sound, wrong] = isWrong ? [sound, middle] : [middle, wrong];
  }
  return sound;
}

function notJson(
  problem: string,
  place: { readonly line?: number; readonly column?: number },
): Error {
  const { line, column } = place;
  const at = line === undefined ? '' : `line ${line}, column ${column}: `;
  return ignitionFailure('ignition.not-json', `ignition config is not JSON: ${at}${problem}`, {
    context: { problem, ...place },
  });
}
