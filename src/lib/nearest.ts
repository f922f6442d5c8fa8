/** No user mistypes a name of hundreds of letters. */
const longestName = 200;

/**
 * The most likely intended name; undefined if none is close: at most a third of its letters differ,
 * and no more than `most` (Damerau–Levenshtein distance, where adjacent swaps count once).
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
    // A difference in length is a lower bound of the distance.
    if (name.length > longestName || Math.abs(name.length - word.length) > allowed) continue;
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance >= bestDistance || distance > allowed) continue;
    best = name;
    bestDistance = distance;
  }
  return best;
}

function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j += 1) {
      const isSwap = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + Number(from[i - 1] !== to[j - 1]),
          isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}
