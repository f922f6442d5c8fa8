import { isDeepStrictEqual } from 'node:util';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

/** Two rendered MachineConfigs of a pool that ought to be one. */
export interface RenderedPair {
  /** As the bootstrap host rendered it. */
  readonly bootstrap: Members;
  /** As the cluster did. */
  readonly cluster: Members;
  /**
   * The system of the release by the bootstrap host: its own file may name the built image by now, which is not
   * what its name was made from.
   */
  readonly osImage: string;
}

/** So many differences are told; one cause, a missing object of the cluster as a rule, makes many. */
const mostTold = 5;

/**
 * What two rendered MachineConfigs differ in, for people: `file /etc/kubernetes/kubelet.conf differs`. The names of
 * rendered MachineConfigs are made from their spec alone.
 */
export function renderedDifference({ bootstrap, cluster, osImage }: RenderedPair): string {
  const before = specOf(bootstrap, osImage);
  const after = specOf(cluster);
  const found = [
    ...namesIn(before, after)
      .filter((name) => name !== 'config')
      .flatMap((name) =>
        isDeepStrictEqual(before[name], after[name]) ? [] : [`spec.${name} differs`],
      ),
    ...listed(before, after),
  ];
  if (found.length === 0) return 'their specs say the same in what can be told apart';
  const more = found.length > mostTold ? ` and ${found.length - mostTold} more` : '';
  return `${found.slice(0, mostTold).join(', ')}${more}`;
}

/** Parts of an Ignition config that are lists of named things. */
const lists = [
  { what: 'file', path: ['storage', 'files'], key: 'path' },
  { what: 'directory', path: ['storage', 'directories'], key: 'path' },
  { what: 'link', path: ['storage', 'links'], key: 'path' },
  { what: 'unit', path: ['systemd', 'units'], key: 'name' },
  { what: 'user', path: ['passwd', 'users'], key: 'name' },
] as const;

function listed(before: Members, after: Members): readonly string[] {
  return lists.flatMap(({ what, path, key }) => {
    const left = itemsIn(before, path, key);
    const right = itemsIn(after, path, key);
    const names = [...new Set([...left.keys(), ...right.keys()])].sort();
    return names.flatMap((name) => {
      if (!right.has(name)) return [`${what} ${name} is not in the cluster's`];
      if (!left.has(name)) return [`${what} ${name} is only in the cluster's`];
      return isDeepStrictEqual(left.get(name), right.get(name)) ? [] : [`${what} ${name} differs`];
    });
  });
}

function itemsIn(
  spec: Members,
  path: readonly string[],
  key: string,
): ReadonlyMap<string, Members> {
  let part: Value | undefined = spec['config'];
  for (const name of path) part = isMembers(part) ? part[name] : undefined;
  const items: readonly Value[] = Array.isArray(part) ? (part as readonly Value[]) : [];
  return new Map(
    items.filter(isMembers).flatMap((item) => {
      const name = item[key];
      return typeof name === 'string' ? [[name, item] as const] : [];
    }),
  );
}

function specOf({ spec }: Members, osImageURL?: string): Members {
  const members = Object.entries(isMembers(spec) ? spec : {}).filter(
    ([, value]) => !isEmpty(value),
  );
  return { ...Object.fromEntries(members), ...(osImageURL === undefined ? {} : { osImageURL }) };
}

/** Go writes what is empty in one way to a file and in another to the API. */
const isEmpty = (value: Value): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);

const namesIn = (a: Members, b: Members): readonly string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
