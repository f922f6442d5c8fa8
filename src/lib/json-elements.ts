/** A text that comes in pieces. */
export interface ElementReader {
  readonly write: (chunk: string) => void;
  /**
   * Characters that are in memory: of the element that has begun, and of all that is no element.
   */
  readonly held: () => number;
  /** The text without the elements that were taken: each is a 0. */
  readonly end: () => string;
}

/**
 * What is nested as deeply overflows the stack of whoever follows or writes it, and a parser keeps
 * a hundred times the length of each level.
 */
export const deepest = 1000;

/** The most of the text before a list in which its name is looked for. */
const nameLength = 100;

/**
 * Reads JSON as it comes, and takes out the elements of one list of it, each as soon as it is
 * whole: a text of many megabytes is never in memory. Only brackets and strings are looked at. What
 * is no JSON remains none, in what is taken or in what is left.
 *
 * @param name of the list, a member of the outermost object; undefined where the list is the
 * outermost value
 * @param take gets the text of each element that is an object or a list
 * @throws Error from `write` where it is nested more than 1000 deep
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

/** Where the piece before has ended. */
interface Place {
  isInString: boolean;
  /** Behind a backslash. */
  isEscaped: boolean;
}

const mark = /["[\]{}]/g;
/** What a string has up to its end, or up to half an escape. */
const inString = /[^"\\]*(?:\\[^][^"\\]*)*/y;

/** Finds the brackets of the next piece of a text, none of which is in a string. */
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
