/**
 * The name that a person most likely meant, or nothing when none is close: at most a third of its
 * letters differ, and no more than `most` (Damerau–Levenshtein distance, adjacent swaps count
 * once).
 */
export function nearestName(
  word: string,
  names: Iterable<string>,
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const allowed = Math.min(most, Math.max(1, Math.floor(name.length / 3)));
    // What differs more in length differs in more letters, and nobody mistypes a name of hundreds.
    if (name.length > longestName || Math.abs(name.length - word.length) > allowed) continue;
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance && distance <= allowed) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

const longestName = 200;

function editDistance(from: string, to: string): number {
  let beforePrevious: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const ways = [
        at(previous, j) + 1,
        at(current, j - 1) + 1,
        at(previous, j - 1) + Number(!isSame),
      ];
      if (isSwap) ways.push(at(beforePrevious, j - 2) + 1);
      current.push(Math.min(...ways));
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, to.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0;
