import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { nodes, pods } from '../cluster/kinds.ts';
import { minutes } from '../model/duration.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import type { Kube, KubeObject, KubeView } from '../ports/kube.ts';
import { type Change, informer } from './informer.ts';

const pod = (name: string, node: string, namespace = 'n'): KubeObject => ({
  metadata: { name, namespace },
  spec: { nodeName: node },
});
const nodeOf = ({ spec }: KubeObject): readonly string[] => [
  (spec as { readonly nodeName: string }).nodeName,
];
const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name);
const textOf = ({ before, after }: Change): string =>
  `${before?.metadata.uid ?? '-'} ${after?.metadata.uid ?? '-'}`;

function setUp(port?: Pick<Kube, 'follow'>) {
  const kube = fakeKube();
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  const store = informer({ kube: port ?? kube, clock }, { kind: pods }, { node: nodeOf });
  const changes: string[] = [];
  const gaps: (string | undefined)[] = [];
  store.onChange((change) => void changes.push(textOf(change)));
  store.onGap(() => void gaps.push(store.gap()?.reason));
  const run = () => store.run(stop.signal);
  return { kube, clock, stop, store, changes, gaps, run };
}

/** Views that a test shows by itself. */
function shown() {
  let show: (view: KubeView) => void = () => undefined;
  const port: Pick<Kube, 'follow'> = {
    follow: (_, seen) => {
      show = seen;
      return new Promise(() => undefined);
    },
  };
  const view = (objects: readonly KubeObject[], more: Partial<KubeView> = {}): void => {
    show({ isSynced: true, objects, ...more });
  };
  return { port, view };
}

const versioned = (name: string, uid: string, version = '1'): KubeObject => ({
  metadata: { name, namespace: 'n', uid, resourceVersion: version },
  spec: { nodeName: `of-${uid}` },
});
const away = kubeFailure('kube.unreachable', 'no');

describe('an informer', () => {
  it('finds objects by name and by index, in the order of their names', async () => {
    const { kube, store, stop, run } = setUp();
    kube.put(pods, pod('b', 'w0')).put(pods, pod('a', 'w0')).put(pods, pod('c', 'w1'));
    const ended = run();
    expect(namesOf(store.by('node', 'w0'))).toEqual(['a', 'b']);
    expect(store.get('c', 'n')?.metadata.name).toBe('c');
    expect(store.get('c')).toBeUndefined();
    kube.put(pods, pod('b', 'w1'));
    kube.drop({ kind: pods, namespace: 'n', name: 'c' });
    expect([namesOf(store.by('node', 'w0')), namesOf(store.by('node', 'w1'))]).toEqual([
      ['a'],
      ['b'],
    ]);
    expect(store.by('node', 'w2')).toEqual([]);
    stop.abort(new Error('stop'));
    await ended;
  });

  it('shows what has come and gone during a gap, one that was replaced too', () => {
    const { port, view } = shown();
    const { store, changes, run } = setUp(port);
    void run();
    view([versioned('a', 'a1'), versioned('b', 'b1'), versioned('c', 'c1')]);
    view([versioned('a', 'a1'), versioned('b', 'b1'), versioned('c', 'c1')], { lastError: away });
    changes.length = 0;
    view([versioned('a', 'a2'), versioned('c', 'c1'), versioned('d', 'd1')]);
    expect(changes).toEqual(['b1 -', 'a1 a2', '- d1']);
    expect(store.by('node', 'of-a1')).toEqual([]);
    expect(namesOf(store.by('node', 'of-a2'))).toEqual(['a']);
    expect(namesOf(store.all())).toEqual(['a', 'c', 'd']);
  });

  it('says nothing of a list that shows the same', () => {
    const { port, view } = shown();
    const { changes, run } = setUp(port);
    void run();
    view([versioned('a', 'a1')]);
    view([versioned('a', 'a1')]);
    view([versioned('a', 'a1', '2')]);
    expect(changes).toEqual(['- a1', 'a1 a1']);
  });

  it('keeps what it has seen throughout a gap, and says since when there is one', async () => {
    const { port, view } = shown();
    const { store, gaps, clock, run } = setUp(port);
    void run();
    expect(store.gap()?.reason).toContain('not listed');
    view([versioned('a', 'a1')]);
    expect(store.gap()).toBeUndefined();
    await clock.advance(minutes(1));
    view([versioned('a', 'a1')], { lastError: away });
    await clock.advance(minutes(1));
    // The kind is served no longer.
    view([], { isSynced: false });
    expect(store.gap()?.since).toBe(minutes(1));
    expect(namesOf(store.all())).toEqual(['a']);
    view([versioned('a', 'a1')]);
    expect(gaps.map((gap) => gap === undefined)).toEqual([true, false, false, true]);
  });

  it('computes an index again that reads something else', () => {
    const { port, view } = shown();
    let label = 'one';
    const clock = fakeClock({ auto: false });
    const store = informer({ kube: port, clock }, { kind: nodes }, { label: () => [label] });
    void store.run(new AbortController().signal);
    view([versioned('a', 'a1')]);
    label = 'two';
    store.reindex('label');
    view([versioned('a', 'a1'), versioned('b', 'b1')]);
    expect(store.by('label', 'one')).toEqual([]);
    expect(namesOf(store.by('label', 'two'))).toEqual(['a', 'b']);
  });
});
