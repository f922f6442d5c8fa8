import { describe, expect, it } from 'vitest';
import { settle } from '../../test/support/fake-clock.ts';
import { untilAborted } from '../engine/wait.ts';
import type { Kube, KubeSelection, KubeView } from '../ports/kube.ts';
import { sharedFollows } from './shared-follow.ts';

const nodes: KubeSelection = { kind: { group: '', version: 'v1', plural: 'nodes' } };
const viewOf = (name: string): KubeView => ({
  isSynced: true,
  objects: [{ metadata: { name } }],
  changes: [],
});

function setUp() {
  const opened: {
    selection: KubeSelection;
    show: (view: KubeView) => void;
    signal: AbortSignal;
  }[] = [];
  const failing: { error?: Error } = {};
  const course: Kube['follow'] = async (selection, show, signal) => {
    opened.push({ selection, show, signal });
    if (failing.error !== undefined) throw failing.error;
    await untilAborted(signal).catch(() => undefined);
  };
  const follow = sharedFollows(course, JSON.stringify);
  const join = (selection = nodes, seen?: (view: KubeView) => void) => {
    const stop = new AbortController();
    const names: string[] = [];
    const keep = (view: KubeView) => void names.push(view.objects[0]?.metadata.name ?? 'none');
    const ended = follow(selection, seen ?? keep, stop.signal);
    ended.catch(() => undefined);
    return { names, stop, ended };
  };
  return { failing, follow, join, opened };
}

describe('followers of the same selection', () => {
  it('share one watch until the last one stops; the next one opens a new watch', async () => {
    const { join, opened } = setUp();
    const [one, two] = [join(), join()];
    await settle();
    opened[0]?.show(viewOf('a'));
    one.stop.abort();
    await one.ended;
    opened[0]?.show(viewOf('b'));
    expect([one.names, two.names]).toEqual([['a'], ['a', 'b']]);
    expect(opened[0]?.signal.aborted).toBe(false);
    two.stop.abort();
    await two.ended;
    expect(opened[0]?.signal.aborted).toBe(true);
    const three = join();
    await settle();
    expect(opened).toHaveLength(2);
    expect(three.names).toEqual([]);
  });

  it('continue when one of them throws', async () => {
    const { join, opened } = setUp();
    const bad = join(nodes, () => {
      throw new RangeError('a bug');
    });
    const good = join();
    await settle();
    opened[0]?.show(viewOf('a'));
    opened[0]?.show(viewOf('b'));
    await expect(bad.ended).rejects.toThrow('a bug');
    expect(good.names).toEqual(['a', 'b']);
  });

  it('all fail when the watch fails; the next one opens a new watch', async () => {
    const { failing, join, opened } = setUp();
    failing.error = new Error('bad credentials');
    const both = [join(), join()];
    for (const { ended } of both) await expect(ended).rejects.toThrow('bad credentials');
    delete failing.error;
    join();
    await settle();
    expect(opened).toHaveLength(2);
  });
});
