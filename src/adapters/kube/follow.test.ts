import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject, KubeView } from '../../ports/kube.ts';
import { type KnownObjects, followed } from './follow.ts';

const object = (name: string, version: number, namespace?: string): KubeObject => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: String(version),
    ...(namespace !== undefined && { namespace }),
  },
});

let views: KubeView[];
let known: KnownObjects;
beforeEach(() => {
  views = [];
  known = followed((view) => views.push({ ...view }));
});

const last = (): unknown => {
  const view = views.at(-1);
  return {
    count: views.length,
    names: view?.objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`),
  };
};

describe('followed', () => {
  it('distinguishes objects with the same name in two namespaces', () => {
    known.listed({ version: '9', objects: [object('a', 2, 'y'), object('a', 1, 'x')] });
    known.happened({ type: 'gone', object: object('a', 10, 'x') });
    expect(last()).toMatchObject({ names: ['a@2'] });
  });

  it('shows a new list after lost history only if it differs', () => {
    known.listed({ version: '9', objects: [object('a', 1)] });
    known.lose();
    expect(known.version()).toBeUndefined();
    known.listed({ version: '30', objects: [object('a', 1)] });
    expect(last()).toMatchObject({ count: 1 });
    known.lose();
    known.listed({ version: '31', objects: [object('b', 1)] });
    expect(last()).toMatchObject({ count: 2, names: ['b@1'] });
  });
});
