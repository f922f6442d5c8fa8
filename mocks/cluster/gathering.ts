// The must-gather pod as a kubelet runs it: its last container uploads to the service, with the
// settings of its Secrets.
import { kinds } from './objects.ts';
import { controllerNamespace, endedStatus } from './pods.ts';
import { type ClusterWork, secretData } from './site.ts';

const podName = 'assisted-installer-must-gather';
const tokenSecret = 'assisted-installer-controller-secret';

/** Stands in for the state of a cluster, which has hundreds of megabytes. */
export const gatheredText = 'must-gather';

/** Runs the pod once if it exists. */
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
