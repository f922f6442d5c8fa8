import { beforeEach, describe, expect, it } from 'vitest';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject, KubeView } from '../../ports/kube.ts';
import { type Followed, followed } from './follow.ts';

const object = (name: string, version: number, namespace?: string): KubeObject => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: String(version),
    ...(namespace === undefined ? {} : { namespace }),
  },
});
const away = kubeFailure('kube.unreachable', 'away');

let views: KubeView[];
let known: Followed;
beforeEach(() => {
  views = [];
  known = followed((view) => views.push({ ...view }));
});

const last = (): unknown => {
  const view = views.at(-1);
  return {
    count: views.length,
    isSynced: view?.isSynced,
    names: view?.objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`),
    ...(view?.lastError === undefined ? {} : { lastError: view.lastError.code }),
  };
};

describe('a selection that is followed', () => {
  it('shows what a list brings, in the order of names', () => {
    known.listed({ version: '9', objects: [object('b', 2), object('a', 1)] });
    expect(last()).toEqual({ count: 1, isSynced: true, names: ['a@1', 'b@2'] });
    expect(known.version()).toBe('9');
  });

  it('shows an empty list too', () => {
    known.listed({ version: '9', objects: [] });
    expect(last()).toEqual({ count: 1, isSynced: true, names: [] });
  });

  it('shows each event, and continues behind it', () => {
    known.listed({ version: '9', objects: [object('b', 2)] });
    known.happened({ type: 'put', object: object('a', 10) });
    expect(last()).toEqual({ count: 2, isSynced: true, names: ['a@10', 'b@2'] });
    known.happened({ type: 'put', object: object('b', 11) });
    expect(last()).toMatchObject({ count: 3, names: ['a@10', 'b@11'] });
    known.happened({ type: 'gone', object: object('a', 12) });
    expect(last()).toMatchObject({ count: 4, names: ['b@11'] });
    expect(known.version()).toBe('12');
    expect(views[0]?.objects).toHaveLength(1);
  });

  it('takes only the point of history from a bookmark', () => {
    known.listed({ version: '9', objects: [] });
    known.happened({ type: 'bookmark', version: '20' });
    expect(last()).toMatchObject({ count: 1 });
    expect(known.version()).toBe('20');
  });

  it('keeps equal names of two namespaces apart', () => {
    known.listed({ version: '9', objects: [object('a', 2, 'y'), object('a', 1, 'x')] });
    known.happened({ type: 'gone', object: object('a', 10, 'x') });
    expect(last()).toMatchObject({ names: ['a@2'] });
  });

  it('shows trouble once, with what was there, and its end once', () => {
    known.listed({ version: '9', objects: [object('a', 1)] });
    known.lastError(away);
    known.lastError(kubeFailure('kube.unreachable', 'away'));
    expect(last()).toEqual({
      count: 2,
      isSynced: true,
      names: ['a@1'],
      lastError: 'kube.unreachable',
    });
    known.lastError(undefined);
    known.lastError(undefined);
    expect(last()).toEqual({ count: 3, isSynced: true, names: ['a@1'] });
  });

  it('shows trouble before the first list', () => {
    known.lastError(away);
    expect(last()).toEqual({ count: 1, isSynced: false, names: [], lastError: 'kube.unreachable' });
    known.listed({ version: '9', objects: [] });
    expect(last()).toEqual({ count: 2, isSynced: true, names: [] });
  });

  it('shows a list after lost history only when it differs', () => {
    known.listed({ version: '9', objects: [object('a', 1)] });
    known.lose();
    expect(known.version()).toBeUndefined();
    known.listed({ version: '30', objects: [object('a', 1)] });
    expect(last()).toMatchObject({ count: 1 });
    known.lose();
    known.listed({ version: '31', objects: [object('b', 1)] });
    expect(last()).toMatchObject({ count: 2, names: ['b@1'] });
  });

  it('says once that a kind is not served', () => {
    known.missing();
    known.missing();
    expect(last()).toEqual({ count: 1, isSynced: false, names: [] });
    known.listed({ version: '9', objects: [] });
    known.missing();
    expect(last()).toEqual({ count: 3, isSynced: false, names: [] });
  });
});
