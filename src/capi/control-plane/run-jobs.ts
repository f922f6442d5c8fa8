import { jobs, pods, serviceAccounts } from '../../cluster/kinds.ts';
import { installerMask } from '../../lib/installer-mask.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { installerFailure, installerFailures } from '../../ports/installer.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import {
  accountName,
  accountObjects,
  imageContainers,
  imagesJob,
  imagesJobName,
  installerJob,
  installerJobName,
  type JobFor,
  jobState,
  lastWords,
  type ReleaseImages,
} from './assets-job.ts';
import { createOnce } from '../objects.ts';

const rbac = (plural: string): KubeKind => ({
  ...{ group: 'rbac.authorization.k8s.io', version: 'v1', plural },
});

/** Kinds of what the Job of the installer needs, in the order in which it is made. */
const accountKinds = [serviceAccounts, rbac('roles'), rbac('rolebindings')];

interface JobScope {
  readonly kube: Kube;
  /** The image of this program. */
  readonly ownImage: string | undefined;
}

/**
 * Takes the next step to the files of a cluster by Jobs: which images the release has, then its installer. All is found again
 * by the names of the Jobs. An event of a Job calls for the next step.
 * @throws AgentError `installer.*` where a Job has failed
 */
export async function stepByJobs(
  { kube, ownImage }: JobScope,
  job: JobFor,
  signal: AbortSignal,
): Promise<void> {
  if (ownImage === undefined) {
    const what = 'BOOTWRIGHT_IMAGE names no image, and OPENSHIFT_INSTALL no program';
    throw installerFailure('installer.not-run', what);
  }
  const step = jobNow(kube, job);
  const asked = await step({ name: imagesJobName(job), make: () => imagesJob(job) }, signal);
  if (asked === undefined) return;
  const images = await imagesOf(kube, asked, signal);
  const make = async (): Promise<KubeObject> => {
    for (const [at, object] of accountObjects(job).entries()) {
      const kind = accountKinds[at];
      if (kind !== undefined) await createOnce(kube, { kind, object }, signal);
    }
    return installerJob(job, images, ownImage);
  };
  await step({ name: installerJobName(job), make }, signal);
}

interface Wanted {
  readonly name: string;
  readonly make: () => KubeObject | Promise<KubeObject>;
}

/** The Job where it is complete; makes it where it is not there. */
const jobNow =
  (kube: Kube, job: JobFor) =>
  async ({ name, make }: Wanted, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const { namespace = '' } = job.controlPlane.metadata;
    const found = await kube.get({ kind: jobs, namespace, name }, signal);
    if (found === undefined) {
      await createOnce(kube, { kind: jobs, object: await make() }, signal);
      return undefined;
    }
    const state = jobState(found);
    if (state === 'failed') throw await failureOf({ kube, job }, found, signal);
    return state === 'complete' ? found : undefined;
  };

const podsOf = (
  kube: Kube,
  { metadata: { name, namespace = '' } }: KubeObject,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> =>
  kube.list({ kind: pods, namespace, labelSelector: `job-name=${name}` }, signal);

/** A release prints a pull spec for each image that it is asked for. */
async function imagesOf(kube: Kube, job: KubeObject, signal: AbortSignal): Promise<ReleaseImages> {
  const all = await podsOf(kube, job, signal);
  const pod = all.find(
    (one) => (one['status'] as { phase?: string } | undefined)?.phase === 'Succeeded',
  );
  const { name, namespace = '' } = job.metadata;
  if (pod === undefined) throw installerFailure('installer.not-run', `Job ${name} has no pod`);
  const read = async (container: string): Promise<string> =>
    (
      await kube.podLog({ namespace, name: pod.metadata.name, container }, undefined, signal)
    ).trim();
  const [installer = '', mco = '', coreOs = ''] = await Promise.all(imageContainers.map(read));
  const wrong = [installer, mco].find((image) => !/^\S+@sha256:[0-9a-f]{64}$/.test(image));
  if (wrong === undefined) return { installer, mco, coreOs };
  throw installerFailure('installer.not-run', `Job ${name}: the release names no image by digest`);
}

/** What a Job says of its failure. One that is removed is run again. */
async function failureOf(
  { kube, job: { inputs } }: { readonly kube: Kube; readonly job: JobFor },
  job: KubeObject,
  signal: AbortSignal,
): Promise<Error> {
  const { name } = job.metadata;
  const mask = installerMask(inputs);
  const words = lastWords(await podsOf(kube, job, signal));
  // As our own program writes its failure.
  const [, code, said] = /^failed: ([a-z.-]+): (.*)$/m.exec(words) ?? [];
  const lines = words.trim().split('\n');
  const last = said ?? lines.findLast((line) => /level=(error|fatal)/.test(line)) ?? lines.at(-1);
  const why = plainLine(mask(last ?? ''), 512);
  if (why === '') {
    const message = `Job ${name} did not run to its end; remove it to run it again`;
    return installerFailure('installer.not-run', message);
  }
  const isKnown = (one: string | undefined): one is keyof typeof installerFailures =>
    one !== undefined && Object.hasOwn(installerFailures, one);
  return installerFailure(isKnown(code) ? code : 'installer.failed', `Job ${name}: ${why}`);
}

/** Removes what made the files, once they are there. */
export async function removeJobs(
  kube: Kube,
  { found, ...job }: Pick<JobFor, 'controlPlane'> & { readonly found: readonly KubeObject[] },
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '' } = job.controlPlane.metadata;
  for (const kind of accountKinds)
    await kube.remove({ kind, namespace, name: accountName(job) }, signal);
  for (const { metadata } of found)
    await kube.remove({ kind: jobs, namespace, name: metadata.name, uid: metadata.uid }, signal);
}
