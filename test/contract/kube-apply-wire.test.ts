// Manifests and requests about many objects on the wire.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { inTurn, json, type Responder } from './real/http-server.ts';
import { type KubeStand, openStand, status } from './real/kube-stand.ts';

const { signal } = new AbortController();
let stand: KubeStand;
beforeEach(async () => {
  stand = await openStand();
});
afterEach(() => stand.close());

const subscription = {
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'Subscription',
  metadata: { name: 's', namespace: 'n' },
};
/** The answer of kube-apiserver 1.34, reduced to the fields that are read. */
const kinds = json(200, {
  kind: 'APIResourceList',
  groupVersion: 'operators.coreos.com/v1alpha1',
  resources: [
    { name: 'subscriptions', kind: 'Subscription', namespaced: true, verbs: ['patch'] },
    { name: 'subscriptions/status', kind: 'Subscription', namespaced: true, verbs: ['get'] },
  ],
});
const discovery = 'GET /apis/operators.coreos.com/v1alpha1';
const path =
  'PATCH /apis/operators.coreos.com/v1alpha1/namespaces/n/subscriptions/s?fieldManager=bootwright&force=true';
const made: Responder = json(200, subscription);

it('requests the discovery of a group once, and retries it and the patch on 503', async () => {
  stand.server.answering(inTurn(status(503), kinds, status(503), made));
  const kube = stand.cluster();
  await kube.apply(subscription, signal);
  await kube.apply(subscription, signal);
  expect(stand.asked()).toEqual([discovery, discovery, path, path, path]);
  expect(stand.server.seen[2]).toMatchObject({ body: JSON.stringify(subscription) });
  expect(stand.server.seen[2]?.headers['content-type']).toBe('application/apply-patch+yaml');
});

it('requests the discovery again for a kind that was not served', async () => {
  stand.server.answering(inTurn(json(404, {}), json(200, { resources: [] }), kinds, made));
  const kube = stand.cluster();
  for (const _ of [1, 2]) {
    await expect(kube.apply(subscription, signal)).rejects.toMatchObject({
      code: 'kube.not-found',
    });
  }
  await kube.apply(subscription, signal);
  expect(stand.asked()).toEqual([discovery, discovery, discovery, path]);
});
