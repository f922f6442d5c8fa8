// The pod of must-gather, as a kubelet runs it: what its last container uploads goes to the
// service, by what its Secrets say.
import { kinds } from './objects.ts';
import { controllerNamespace, endedStatus } from './pods.ts';
import { type ClusterWork, secretData } from './site.ts';

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
  const secretOf = (name: string) => secretData(work, { name, namespace: controllerNamespace });
  const { TARGET: target = '' } = await secretOf(podName);
  const { 'pull-secret-token': token = '' } = await secretOf(tokenSecret);
  const answer = await fetch(String(target), {
    method: 'POST',
    body: form,
    headers: { 'X-Secret-Key': String(token) },
  });
  const said = answer.ok ? 'uploaded' : `${answer.status} ${await answer.text()}`;
  if (!answer.ok) work.complain(`must-gather was not uploaded: ${said}`);
  work.logs.set(podName, () => said);
  await client.mergeStatus(ref, { ...endedStatus(pod, new Date()), startTime: new Date() });
}
