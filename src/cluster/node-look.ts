import type { ControlPlaneRole } from './node.ts';

/** How one node of the role stands. */
export interface NodeStanding {
  readonly name: string;
  /** Why it does not count yet; it counts without. */
  readonly missing?: string;
}

/** What a look at the nodes of a role showed. */
export interface NodeLook {
  readonly isDone: boolean;
  /** For people: `1 of 2 masters ready; m2: NotReady, container network is not ready`. */
  readonly status: string;
}

/** Counts nodes, and says what is missing in words that change only with what they say. */
export function lookAtNodes(
  role: ControlPlaneRole,
  target: number,
  nodes: readonly NodeStanding[],
): NodeLook {
  const counted = nodes.filter(({ missing }) => missing === undefined).length;
  const others = nodes.flatMap(({ name, missing }) =>
    missing === undefined ? [] : [`${name}: ${missing}`],
  );
  const absent =
    nodes.length >= target
      ? []
      : [`no ${nodes.length === 0 ? '' : 'further '}${role} has joined yet`];
  return {
    isDone: counted >= target,
    status: [
      `${counted} of ${target} ${role}${target === 1 ? '' : 's'} ready`,
      ...others,
      ...absent,
    ].join('; '),
  };
}
