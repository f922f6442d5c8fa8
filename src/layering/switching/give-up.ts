import { isSettled, type NodeStanding } from './node-standing.ts';

/** What is left of a switch that is given up. */
export interface GivenUp {
  /** Out of work and not changed yet: they can be given back to it. */
  readonly toReturn: readonly NodeStanding[];
  /** Changed, and not through: the operator takes them for done, or for broken, and a person has to look. */
  readonly unfinished: readonly NodeStanding[];
}

/** What is to be done about the nodes of a pool whose switch is given up. */
export function givenUp(nodes: readonly NodeStanding[]): GivenUp {
  const isChanged = ({ isTold, pods: { record } }: NodeStanding): boolean =>
    isTold || record?.isDone === true;
  const isThrough = (node: NodeStanding): boolean => isSettled(node) && node.drain === 'none';
  return {
    toReturn: nodes.filter(
      (node) => !isChanged(node) && (node.drain === 'drained' || node.drain === 'draining'),
    ),
    unfinished: nodes.filter((node) => isChanged(node) && !isThrough(node)),
  };
}
