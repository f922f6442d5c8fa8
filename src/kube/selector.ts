import { fieldsOf, isFields } from '../lib/fields.ts';

/**
 * A label selector in the syntax of a request; undefined for a missing selector, which selects
 * nothing.
 */
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

/**
 * Whether a label selector of the API matches labels; a missing selector matches nothing, an empty
 * one everything.
 */
export function isSelectedBy(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  if (!isFields(selector)) return false;
  const { matchLabels, matchExpressions } = selector;
  const rules: readonly unknown[] = Array.isArray(matchExpressions) ? matchExpressions : [];
  return (
    Object.entries(fieldsOf(matchLabels)).every(([key, value]) => labels[key] === value) &&
    rules.every((rule) => isMatched(rule, labels))
  );
}

/** The four operators of a label selector (apimachinery, LabelSelectorRequirement). */
function isMatched(rule: unknown, labels: Readonly<Record<string, string>>): boolean {
  if (!isFields(rule)) return false;
  const { key, operator, values } = rule;
  const label = typeof key === 'string' ? labels[key] : undefined;
  const isAmong = label !== undefined && Array.isArray(values) && values.includes(label);
  switch (operator) {
    case 'In':
      return isAmong;
    case 'NotIn':
      return !isAmong;
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    default:
      return false;
  }
}
