// Which programs of pods run on which node, so that they end when the node is drained or starts anew.

/** The programs on the nodes of a cluster. */
export interface Tenants {
  /** A program runs on a node from now on; gives what takes it out again. */
  readonly moveIn: (node: string, leave: () => void) => () => void;
  /** Ends every program on a node. */
  readonly evict: (node: string) => void;
}

/** Nodes on which nothing runs. */
export function tenants(): Tenants {
  const all = new Map<string, Set<() => void>>();
  const on = (node: string): Set<() => void> => {
    const found = all.get(node) ?? new Set();
    all.set(node, found);
    return found;
  };
  return {
    moveIn: (node, leave) => {
      on(node).add(leave);
      return () => void on(node).delete(leave);
    },
    evict: (node) => {
      for (const leave of [...on(node)]) leave();
    },
  };
}
