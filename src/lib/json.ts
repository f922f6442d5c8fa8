/** A text of this length takes little memory at any depth: a hundred times its length. */
const smallLength = 1024 ** 2;

/**
 * The value of a JSON text; undefined if it is invalid or nested too deeply. The caller checks its
 * form.
 */
export function jsonIn(text: string): unknown {
  try {
    if (text.length > smallLength) elementReader({ name: '', take: () => undefined }).write(text);
    const value = JSON.parse(text) as unknown;
    return isWithin(value, deepest) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((member) => isWithin(member, depth - 1)));

/**
 * Whether an object from the API server contains all that was sent. The server adds members, also
 * in elements of lists, and drops empty values of many fields. It stores a secret's `stringData` as
 * `data`, so such an object never matches.
 */
export function isContained(sent: unknown, found: unknown): boolean {
  if (typeof sent !== 'object' || sent === null)
    return found === sent || (found === undefined && (sent === null || sent === ''));
  if (typeof found !== 'object' || found === null) return Object.keys(sent).length === 0;
  if (Array.isArray(sent) && !(Array.isArray(found) && found.length === sent.length)) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return Object.entries(sent).every(([name, value]) => isContained(value, members[name]));
}

/** Reads a text that arrives in pieces. */
interface ElementReader {
  readonly write: (chunk: string) => void;
  /**
   * Number of characters in memory: of the present element, and of all text outside of elements.
   */
  readonly held: () => number;
  /** The text without the extracted elements, each replaced by a 0. */
  readonly end: () => string;
}

/**
 * Maximum depth. Deeper nesting overflows the stack of code that visits or writes the value, and a
 * parser needs a hundred times the length of each level.
 */
const deepest = 1000;

/** Maximum text before a list that is searched for the list's name. */
const nameLength = 100;

/**
 * Reads JSON as it arrives, and extracts the elements of one list in it, each as soon as it is
 * complete: a text of many megabytes is never in memory. Looks only at brackets and strings.
 * Invalid JSON stays invalid, in the extracted or in the remaining text.
 *
 * @param name of the list, a member of the outermost object; undefined if the list is the outermost
 * value
 * @param take gets the text of each element that is an object or a list
 * @throws Error from `write` if the text is nested more than 1000 deep
 */
export function elementReader({
  name,
  take,
}: {
  readonly name: string | undefined;
  readonly take: (text: string) => void;
}): ElementReader {
  const opening = name === undefined ? /^/ : new RegExp(`[{,\\s]"${name}"\\s*:\\s*$`);
  const listDepth = name === undefined ? 0 : 1;
  const place: Place = { isInString: false, isEscaped: false };
  const left: string[] = [];
  let leftLength = 0;
  let lastLeft = '';
  let element = '';
  let depth = 0;
  let isInList = false;
  const keep = (text: string): void => {
    if (isInList && depth > listDepth + 1) {
      element += text;
    } else {
      left.push(text);
      leftLength += text.length;
      lastLeft = (lastLeft + text.slice(-nameLength)).slice(-nameLength);
    }
  };
  return {
    write: (text) => {
      let from = 0;
      for (const at of bracketsIn(text, place)) {
        const bracket = text[at];
        if (bracket === '{' || bracket === '[') {
          if (depth === listDepth || (depth === listDepth + 1 && isInList)) {
            keep(text.slice(from, at));
            from = at;
          }
          if (depth === listDepth) isInList = bracket === '[' && opening.test(lastLeft);
          depth += 1;
          if (depth > deepest) throw new Error('nested too deeply');
        } else {
          depth -= 1;
          if (depth !== listDepth + 1 || !isInList) continue;
          take(element + text.slice(from, at + 1));
          element = '';
          left.push('0');
          from = at + 1;
        }
      }
      keep(text.slice(from));
    },
    held: () => leftLength + element.length,
    end: () => left.join('') + element,
  };
}

/** State at the end of the previous piece. */
interface Place {
  isInString: boolean;
  /** After a backslash. */
  isEscaped: boolean;
}

const mark = /["[\]{}]/g;
/** The rest of a string up to its end, or up to half an escape. */
const inString = /[^"\\]*(?:\\[^][^"\\]*)*/y;

/** Finds the brackets in the next piece of a text, except in strings. */
function* bracketsIn(text: string, place: Place): Generator<number> {
  let at = place.isEscaped && text !== '' ? 1 : 0;
  if (at > 0) place.isEscaped = false;
  for (;;) {
    if (place.isInString) {
      inString.lastIndex = at;
      inString.test(text);
      at = inString.lastIndex;
      if (text[at] === '\\') place.isEscaped = true;
      if (text[at] !== '"') return;
      place.isInString = false;
      at += 1;
    }
    mark.lastIndex = at;
    const found = mark.exec(text);
    if (found === null) return;
    at = mark.lastIndex;
    if (found[0] === '"') place.isInString = true;
    else yield found.index;
  }
}
