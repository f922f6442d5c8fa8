import { Pkcs10CertificateRequest } from '../../../test/support/kubelet-request.ts';
import { describe, expect, it } from 'vitest';
import { createPki } from '../../../mocks/kube/pki.ts';
import {
  bootstrapIn,
  capiNamespace,
  conditionIn,
  managementCluster,
  report,
  runControlPlanes,
} from '../../../test/support/capi-world.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { certificateSigningRequests, clusterRoleBindings, secrets } from '../../cluster/kinds.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ownNames } from '../api.ts';

const installers = JSON.stringify({
  'current-context': 'admin',
  clusters: [{ name: 'demo', cluster: { server: 'https://api.demo.test:6443' } }],
  contexts: [{ name: 'admin', context: { cluster: 'demo', user: 'admin' } }],
  users: [{ name: 'admin', user: { 'client-key-data': 'never-shared' } }],
});

const secretIn = (kube: FakeKube): KubeObject | undefined =>
  kube.objectsOf(secrets).find(({ metadata }) => metadata.name === 'demo-kubeconfig');

const valueIn = (kube: FakeKube): string =>
  Buffer.from(textAt(secretIn(kube), 'data', 'value'), 'base64').toString();

/** A signer that has two certificates of 30 days, made before a clock runs. */
async function signer(): Promise<() => Promise<string | undefined>> {
  const pki = await createPki();
  const issued = [1, 2].map(() => pki.issueFor({ name: 'bootwright-control-plane' }));
  const certificates = (await Promise.all(issued)).map(({ certificate }) =>
    Buffer.from(certificate).toString('base64'),
  );
  return () => Promise.resolve(certificates.shift());
}

/** A control plane whose bootstrap is complete, and the requests for certificates that its cluster saw. */
async function complete(
  sign: (request: KubeObject) => Promise<string | undefined>,
  start = Date.now(),
  /** Owners of a Secret that has the name of its kubeconfig. */
  taken?: readonly object[],
) {
  const kube = managementCluster();
  const guest = fakeKube();
  const clock = fakeClock({ auto: false, start });
  const stop = new AbortController();
  const seen: string[] = [];
  const answer = async (): Promise<void> => {
    guest.after('replace', answer);
    const [request] = guest.objectsOf(certificateSigningRequests);
    if (request === undefined) return;
    seen.push(Buffer.from(textAt(request, 'spec', 'request'), 'base64').toString());
    const certificate = await sign(request);
    if (certificate === undefined) return;
    const status = { ...(request['status'] as object), certificate };
    guest.put(certificateSigningRequests, { ...request, status });
  };
  guest.after('replace', answer);
  const made = {
    make: (): never => {
      throw new Error('the files are there');
    },
    runs: [],
  };
  kube.put(secrets, {
    metadata: {
      ...{ name: 'demo-install-assets', namespace: capiNamespace },
      labels: { 'cluster.x-k8s.io/cluster-name': 'demo' },
      annotations: {
        ...{ [ownNames.inputsHash]: '1', [ownNames.generatedAt]: new Date(start).toISOString() },
      },
      ...{ ownerReferences: [{ uid: 'cp-uid' }] },
    },
    data: { kubeconfig: Buffer.from(installers).toString('base64') },
  });
  const named = { name: 'demo-kubeconfig', namespace: capiNamespace };
  const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' };
  if (taken !== undefined)
    kube.put(secrets, {
      metadata: { ...named, labels, ...{ ownerReferences: taken } },
      data: { value: Buffer.from('theirs').toString('base64') },
    });
  const ended = runControlPlanes({ kube, clock, guest, installer: made, signal: stop.signal });
  const pass = async (time: number, step = 250): Promise<void> => {
    for (let passed = 0; passed < time; passed += step) {
      await settle();
      await clock.advance(step);
    }
    await settle();
  };
  await pass(seconds(1));
  report(kube, bootstrapIn(kube)?.metadata.name ?? '', 'Rebooting');
  await pass(seconds(2));
  const end = async () => {
    stop.abort(new Error('the test ends'));
    return ended;
  };
  return { kube, guest, clock, seen, pass, end };
}

describe('the kubeconfig of a Cluster', () => {
  it("has a certificate of the cluster's own signer, renewed at half of its life", async () => {
    const { kube, guest, seen, pass, end } = await complete(await signer());
    const content = new Pkcs10CertificateRequest(seen[0] ?? '');
    expect(content.subject).toBe(
      'O=bootwright:cluster-administrators, CN=bootwright-control-plane',
    );
    await expect(content.verify()).resolves.toBe(true);
    expect(valueIn(kube)).toContain('https://api.demo.test:6443');
    expect(valueIn(kube)).not.toContain('never-shared');
    expect(guest.objectsOf(certificateSigningRequests)).toEqual([]);
    expect(guest.objectsOf(clusterRoleBindings)).toHaveLength(1);
    const first = valueIn(kube);
    await pass(hours(24) * 10, hours(6));
    expect(valueIn(kube)).toBe(first);
    await pass(hours(24) * 8, hours(6));
    expect(valueIn(kube)).not.toBe(first);
    await end();
  });

  it.each([
    [
      'of another control plane, which is said, until that is gone',
      [{ uid: 'former', controller: true }],
    ],
    ['of a user, which stays', undefined],
  ])('is not written into a Secret %s', async (_, ownerReferences) => {
    const { kube, pass, end } = await complete(await signer(), Date.now(), ownerReferences ?? []);
    expect(valueIn(kube)).toBe('theirs');
    const isOfUser = ownerReferences === undefined;
    expect(conditionIn(kube, 'KubeconfigAvailable')).toBe(
      isOfUser ? 'True Available' : 'False WaitingForAPI',
    );
    expect(conditionIn(kube, 'MachinesCreated')).toBe(
      isOfUser ? 'True Created' : 'False CreationFailed',
    );
    kube.drop({ kind: secrets, namespace: capiNamespace, name: 'demo-kubeconfig' });
    await pass(minutes(1), seconds(1));
    expect(valueIn(kube)).toContain('https://api.demo.test:6443');
    await end();
  });

  it.each([hours(24) * -400, hours(24) * 400])(
    'is renewed in time where the clock of the cluster is another one, by %d ms',
    async (difference) => {
      const sign = await signer();
      const { kube, seen, pass, end } = await complete(sign, Date.now() + difference);
      const first = valueIn(kube);
      await pass(hours(24) * 10, hours(6));
      expect(seen).toHaveLength(1);
      await pass(hours(24) * 8, hours(6));
      expect(valueIn(kube)).not.toBe(first);
      await end();
    },
  );

  it('stays that of the installer where nobody signs, which is asked again', async () => {
    const { kube, guest, seen, pass, end } = await complete(() => Promise.resolve(undefined));
    await pass(seconds(25));
    expect(valueIn(kube)).toBe(installers);
    expect(guest.objectsOf(certificateSigningRequests)).toEqual([]);
    expect(seen).toHaveLength(1);
    await pass(minutes(6), seconds(10));
    expect(seen).toHaveLength(2);
    const why = 'signs no certificate for its kubeconfig; it keeps the one that it has';
    expect(await end()).toContain(`warn: the cluster of control plane shop/demo ${why}`);
  });
});
