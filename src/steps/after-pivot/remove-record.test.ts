import { describe, expect, it } from 'vitest';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { clusterRoles } from '../../cluster/kinds.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { removeRecord } from './manifests.ts';

/** A cluster that refuses to remove roles, as it does once this program has no permissions. */
function refusing(code: 'kube.denied' | 'kube.unreachable'): FakeKube {
  const kube = fakeKube();
  const remove: FakeKube['remove'] = (ref, signal) =>
    ref.kind === clusterRoles
      ? Promise.reject(kubeFailure(code, 'DELETE answered 403'))
      : kube.remove(ref, signal);
  return { ...kube, remove };
}

describe('after-pivot/remove-record', () => {
  it('is done when the role is gone and the answer that said so was lost', async () => {
    const { notes } = await runStep(removeRecord, { kube: refusing('kube.denied') });
    expect(notes).toEqual(['info: the permissions are already removed']);
  });

  it('fails when it cannot be known', async () => {
    const { failure } = await tryStep(removeRecord, { kube: refusing('kube.unreachable') });
    expect(failure).toMatchObject({ code: 'kube.unreachable' });
  });
});
