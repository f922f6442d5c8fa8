// The pod of must-gather, as a kubelet runs it: what its last container uploads goes to the service, by what its Secrets say.
import type { KubeObject } from '../../src/ports/kube.ts';
import { kinds } from './objects.ts';
import { controllerNamespace, endedStatus } from './pods.ts';
import type { ClusterWork } from './site.ts';

const podName = 'assisted-installer-must-gather';
const tokenSecret = 'assisted-installer-controller-secret';

/** What stands for the state of a cluster, in place of some hundred megabytes. */
export const gatheredText = 'must-gather';

/** Runs the pod once where it is there. */
export async function runGathering(work: ClusterWork): Promise<void> {
  const { client } = work.kube;
  const ref = { kind: kinds.Pod, name: podName, namespace: controllerNamespace };
  const pod = await client.get(ref);
  const { status = {} } = (pod ?? {}) as { readonly status?: { readonly startTime?: string } };
  if (pod === undefined || status.startTime !== undefined) return;
  const form = new FormData();
  form.set('upfile', new Blob([gatheredText]), 'controller_logs.tar.gz');
  const { TARGET: target = '' } = await secretData(work, podName);
  const { 'pull-secret-token': token = '' } = await secretData(work, tokenSecret);
  const answer = await fetch(target, {
    ...{ method: 'POST', body: form, headers: { 'X-Secret-Key': token } },
  });
  const said = answer.ok ? 'uploaded' : `${answer.status} ${await answer.text()}`;
  if (!answer.ok) work.complain(`must-gather was not uploaded: ${said}`);
  work.logs.set(podName, () => said);
  await client.mergeStatus(ref, { ...endedStatus(pod, new Date()), startTime: new Date() });
}

async function secretData({ kube }: ClusterWork, name: string): Promise<Record<string, string>> {
  const ref = { kind: kinds.Secret, name, namespace: controllerNamespace };
  const { data = {} } = ((await kube.client.get(ref)) ?? {}) as Partial<KubeObject> & {
    readonly data?: Readonly<Record<string, string>>;
  };
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
}
