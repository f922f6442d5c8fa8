/** A label selector in the words of a request; undefined for none, which selects nothing. */
export function selectorText(selector: unknown): string | undefined {
  if (typeof selector !== 'object' || selector === null) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector as {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: string;
      readonly values?: readonly string[];
    }[];
  };
  const rules = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${values.join(',')})`;
  });
  return [...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`), ...rules].join();
}
