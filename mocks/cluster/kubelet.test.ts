import { expect, it } from 'vitest';
import { tenants } from './kubelet.ts';

it('ends what runs on a node, and nothing else', () => {
  const ended: string[] = [];
  const all = tenants();
  const moveIn = (node: string, name: string): (() => void) =>
    all.moveIn(node, () => ended.push(name));
  moveIn('m1', 'job');
  const moveOut = moveIn('m1', 'finished');
  moveIn('m2', 'elsewhere');
  moveOut();
  all.evict('m1');
  all.evict('m3');
  expect(ended).toEqual(['job']);
});
