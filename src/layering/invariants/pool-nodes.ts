import type { KubeObject } from '../../ports/kube.ts';
import { listAt, partOf, textAt } from '../cluster-object.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * The nodes that a pool rolls out to. A node may be selected by several pools: that of the masters comes before
 * any other, and one that was made for some nodes before that of all workers (machine-config-operator,
 * `pkg/helpers`, getPoolsForNode).
 */
export function nodesOfPool(
  name: string,
  {
    pools,
    nodes,
  }: { readonly pools: readonly KubeObject[]; readonly nodes: readonly KubeObject[] },
): readonly KubeObject[] {
  const ranked = [...pools].sort((a, b) => rankOf(a) - rankOf(b));
  return nodes.filter((node) => {
    const first = ranked.find((pool) => isSelected(pool, node.metadata.labels ?? {}));
    return first?.metadata.name === name;
  });
}

const rankOf = ({ metadata: { name } }: KubeObject): number =>
  name === 'master' ? 0 : name === 'worker' ? 2 : 1;

function isSelected(pool: KubeObject, labels: Labels): boolean {
  const selector = partOf(pool, 'spec', 'nodeSelector');
  if (!isMembers(selector as Value)) return false;
  const wanted = partOf(pool, 'spec', 'nodeSelector', 'matchLabels');
  const rules = listAt(pool, 'spec', 'nodeSelector', 'matchExpressions');
  const texts = isMembers(wanted as Value) ? Object.keys(wanted as Members) : [];
  return (
    texts.every(
      (key) => labels[key] === textAt(pool, 'spec', 'nodeSelector', 'matchLabels', key),
    ) && rules.every((rule) => isMatched(rule, labels))
  );
}

/** The four operators of a label selector (apimachinery, LabelSelectorRequirement). */
function isMatched(rule: unknown, labels: Labels): boolean {
  if (!isMembers(rule as Value)) return false;
  const { key, operator, values } = rule as Members;
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
