import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { type KnownObjects, followed } from '../adapters/kube/follow.ts';
import { nodes, pods } from './kinds.ts';
import { minutes } from '../model/duration.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import type { Kube, KubeChange, KubeObject } from '../ports/kube.ts';
import { informer } from './informer.ts';

const pod = (name: string, node: string, namespace = 'n'): KubeObject => ({
  metadata: { name, namespace },
  spec: { nodeName: node },
});
const nodeOf = ({ spec }: KubeObject): readonly string[] => [
  (spec as { readonly nodeName: string }).nodeName,
];
const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name);
const textOf = ({ before, after }: KubeChange): string =>
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

/** A selection whose events come from the test. */
function shown() {
  let known: KnownObjects | undefined;
  const port: Pick<Kube, 'follow'> = {
    follow: (_, seen) => {
      known = followed(seen);
      return new Promise(() => undefined);
    },
  };
  const list = (...objects: readonly KubeObject[]): void =>
    known?.listed({ version: '1', objects });
  return { port, list, known: () => known };
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

  it('emits what was added, deleted and replaced during a gap', () => {
    const { port, list, known } = shown();
    const { store, changes, run } = setUp(port);
    void run();
    list(versioned('a', 'a1'), versioned('b', 'b1'), versioned('c', 'c1'));
    known()?.lastError(away);
    changes.length = 0;
    list(versioned('a', 'a2'), versioned('c', 'c1'), versioned('d', 'd1'));
    expect(changes).toEqual(['b1 -', 'a1 a2', '- d1']);
    expect(store.by('node', 'of-a1')).toEqual([]);
    expect(namesOf(store.by('node', 'of-a2'))).toEqual(['a']);
    expect(namesOf(store.all())).toEqual(['a', 'c', 'd']);
  });

  it('keeps its objects during a gap and reports when the gap began', async () => {
    const { port, list, known } = shown();
    const { store, changes, gaps, clock, run } = setUp(port);
    void run();
    expect(store.gap()?.reason).toContain('not listed');
    list(versioned('a', 'a1'), versioned('b', 'b1'));
    expect(store.gap()).toBeUndefined();
    await clock.advance(minutes(1));
    known()?.lastError(away);
    await clock.advance(minutes(1));
    // The API server no longer serves the kind.
    known()?.missing();
    expect(store.gap()).toEqual({
      reason: 'the API server does not serve pods',
      since: minutes(1),
    });
    expect(namesOf(store.all())).toEqual(['a', 'b']);
    changes.length = 0;
    list(versioned('a', 'a1'));
    expect(changes).toEqual(['b1 -']);
    expect(gaps.map((gap) => gap === undefined)).toEqual([true, false, false, true]);
  });

  it('recomputes an index on reindex', () => {
    const { port, list } = shown();
    let label = 'one';
    const clock = fakeClock({ auto: false });
    const store = informer({ kube: port, clock }, { kind: nodes }, { label: () => [label] });
    void store.run(new AbortController().signal);
    list(versioned('a', 'a1'));
    label = 'two';
    store.reindex('label');
    list(versioned('a', 'a1'), versioned('b', 'b1'));
    expect(store.by('label', 'one')).toEqual([]);
    expect(namesOf(store.by('label', 'two'))).toEqual(['a', 'b']);
  });
});
