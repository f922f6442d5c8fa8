import { createHash } from 'node:crypto';
import { jobs, pods, serviceAccounts } from '../../kube/kinds.ts';
import { conditionOf, containerStatuses, partOf, textAt } from '../../kube/object.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { minutes } from '../../model/duration.ts';
import { exitCodes } from '../../model/failure.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import { type CapiCluster, capiNames, type OpenShiftControlPlane } from '../api.ts';
import { readInstallConfig } from '../install-state.ts';
import { createOnce, isControlledBy, refTo } from '../objects.ts';
import {
  assetsApp,
  installerFailure,
  installerFailures,
  type InstallerRun,
  installerRuns,
  type InstallInputs,
  installerMask,
} from './installer.ts';
import { beginOf, ownerOf } from './machines.ts';
import type { Pass } from './pass.ts';

/** A control plane and its inputs, for which Jobs run. */
interface JobInputs {
  readonly controlPlane: OpenShiftControlPlane;
  readonly cluster: CapiCluster;
  readonly inputs: InstallInputs;
  /** Hash of the inputs. */
  readonly hash: string;
}

/** Images of the release. */
interface ReleaseImages {
  readonly installer: string;
  readonly mco: string;
  /** Container image of CoreOS; empty if the release has none of its names. */
  readonly coreOs: string;
}

/**
 * Takes the next step to make the files of a control plane by Jobs: reads the images of the
 * release, then runs its installer. Finds its Jobs again by their names; an event of a Job triggers
 * the next step. Makes files once, and never if a host may have used some.
 * @throws AgentError `installer.*` if a Job has failed
 */
export async function makeAssets(
  { kube, ownImage, template, view, ...pass }: Pass,
  signal: AbortSignal,
): Promise<void> {
  const { controlPlane, cluster, isInfrastructureReady, assets } = view;
  const { inputs, hash = '' } = pass.inputs ?? {};
  if (inputs === undefined || template === undefined || cluster === undefined) return;
  if (!isInfrastructureReady || assets !== undefined) return;
  if (ownImage === undefined)
    throw installerFailure('installer.not-run', 'BOOTWRIGHT_IMAGE names no image');
  await runJobs(kube, { controlPlane, cluster, inputs, hash }, ownImage, signal);
}

/** Takes the next step by the Jobs that exist. @throws AgentError if a Job has failed */
async function runJobs(
  kube: Kube,
  job: JobInputs,
  ownImage: string,
  signal: AbortSignal,
): Promise<void> {
  const asked = imagesJob(job);
  const found = await existingJob(kube, job, asked, signal);
  if (found === undefined) await createOnce(kube, jobs, asked, signal);
  if (found === undefined || conditionOf(found, 'Complete').status !== 'True') return;
  const wanted = installerJob(job, await imagesOf(kube, found, signal), ownImage);
  if ((await existingJob(kube, job, wanted, signal)) !== undefined) return;
  // The first Secret wins: a Job with inputs that were corrected since must not create it.
  for (const former of await ownJobs(kube, job.controlPlane, signal))
    if (former.metadata.name !== asked.metadata.name) await removeJob(kube, former, signal);
  for (const [kind, object] of accountObjects(job)) await createOnce(kube, kind, object, signal);
  await createOnce(kube, jobs, wanted, signal);
}

/** The Job of a name. Once removed, it runs again. @throws AgentError if the Job has failed */
async function existingJob(
  kube: Kube,
  { inputs }: JobInputs,
  wanted: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const found = await kube.get(refTo(jobs, wanted), signal);
  const hasFailed = ['Failed', 'FailureTarget'].some(
    (type) => conditionOf(found, type).status === 'True',
  );
  if (found === undefined || !hasFailed) return found;
  const words = lastWords(await podsOf(kube, found, signal));
  // This program writes its own failure in this form.
  const [, code = '', said] = /^failed: ([a-z.-]+): (.*)$/m.exec(words) ?? [];
  const lines = words.trim().split('\n');
  const last = said ?? lines.findLast((line) => /level=(error|fatal)/.test(line)) ?? lines.at(-1);
  const why = plainLine(installerMask(inputs)(last ?? ''), 512);
  const title = `Job ${found.metadata.name}`;
  if (why === '')
    throw installerFailure(
      'installer.not-run',
      `${title} did not run to its end; remove it to run it again`,
    );
  const known = Object.hasOwn(installerFailures, code)
    ? (code as keyof typeof installerFailures)
    : 'installer.failed';
  throw installerFailure(known, `${title}: ${why}`);
}

/** The last message of a Job's containers; a failed container comes before all others. */
function lastWords(all: readonly KubeObject[]): string {
  const statuses = all.flatMap(containerStatuses);
  const failed = statuses
    .filter((one) => (partOf(one, 'state', 'terminated', 'exitCode') ?? 0) !== 0)
    .map((one) => textAt(one, 'state', 'terminated', 'message'));
  const waiting = statuses.map((one) => textAt(one, 'state', 'waiting', 'message'));
  return [...failed, ...waiting].find((message) => message !== '') ?? '';
}

const podsOf = (
  kube: Kube,
  { metadata: { name, namespace = '' } }: KubeObject,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> =>
  kube.list({ kind: pods, namespace, labelSelector: `job-name=${name}` }, signal);

const imageByDigest = /^\S+@sha256:[0-9a-f]{64}$/;

/** The images Job prints one pull spec for each requested image. */
async function imagesOf(kube: Kube, job: KubeObject, signal: AbortSignal): Promise<ReleaseImages> {
  const all = await podsOf(kube, job, signal);
  const pod = all.find((one) => textAt(one, 'status', 'phase') === 'Succeeded');
  const { name, namespace = '' } = job.metadata;
  if (pod === undefined) throw installerFailure('installer.not-run', `Job ${name} has no pod`);
  const ref = { namespace, name: pod.metadata.name, container: 'images' };
  const lines = (await kube.podLog(ref, undefined, signal)).split('\n').map((line) => line.trim());
  const [installer, mco, coreOs = ''] = lines.filter((line) => imageByDigest.test(line));
  if (installer !== undefined && mco !== undefined) return { installer, mco, coreOs };
  throw installerFailure('installer.not-run', `Job ${name}: the release names no image by digest`);
}

/** The Jobs of a control plane that are not being deleted. */
async function ownJobs(
  kube: Pick<Kube, 'list'>,
  { metadata: { namespace, uid } }: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const all = await kube.list({ kind: jobs, namespace, labelSelector: `app=${assetsApp}` }, signal);
  return all.filter(
    (job) => isControlledBy(job, uid) && job.metadata.deletionTimestamp === undefined,
  );
}

/** Removes the Jobs of a control plane and their account once the files exist. */
export async function removeUsedJobs(
  { view: { controlPlane, hasAssets }, hasJobs, kube, metrics }: Pass,
  signal: AbortSignal,
): Promise<void> {
  if (!hasAssets || !hasJobs) return;
  // A store still shows Jobs that were just removed.
  const found = await ownJobs(kube, controlPlane, signal);
  if (found.length === 0) return;
  const { namespace = '' } = controlPlane.metadata;
  for (const kind of [serviceAccounts, roles, roleBindings])
    await kube.remove({ kind, namespace, name: accountName(controlPlane) }, signal);
  for (const one of found) await removeJob(kube, one, signal);
  metrics?.installerEnded('made');
}

const removeJob = (kube: Kube, job: KubeObject, signal: AbortSignal): Promise<void> =>
  kube.remove({ ...refTo(jobs, job), uid: job.metadata.uid }, signal);

const rbac = 'rbac.authorization.k8s.io';
const roles: KubeKind = { group: rbac, version: 'v1', plural: 'roles' };
const roleBindings: KubeKind = { group: rbac, version: 'v1', plural: 'rolebindings' };

/** A deterministic name for a control plane and its inputs, by which a Job is found again. */
function nameOf(
  { metadata: { name, uid = '' } }: OpenShiftControlPlane,
  what: string,
  ...inputs: readonly string[]
): string {
  const hash = createHash('sha256').update([uid, ...inputs].join('/'));
  return `${beginOf(name, 40)}-${what}-${hash.digest('hex').slice(0, 8)}`;
}

/** Name of the ServiceAccount of the installer's Job, of its Role and of the RoleBinding. */
const accountName = (controlPlane: OpenShiftControlPlane): string =>
  nameOf(controlPlane, 'installer-account');

const metadataOf = ({ controlPlane, cluster }: JobInputs, name: string) => ({
  name,
  namespace: controlPlane.metadata.namespace ?? '',
  labels: { app: assetsApp, [capiNames.clusterName]: cluster.metadata.name },
  ownerReferences: [{ ...ownerOf(controlPlane, false), controller: true }],
});

/** Objects by which the installer's pods may create a Secret in their namespace, and read none. */
function accountObjects(job: JobInputs): readonly (readonly [KubeKind, KubeObject])[] {
  const name = accountName(job.controlPlane);
  const metadata = metadataOf(job, name);
  const apiVersion = `${rbac}/v1`;
  return [
    [serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }],
    [
      roles,
      {
        apiVersion,
        kind: 'Role',
        metadata,
        rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }],
      },
    ],
    [
      roleBindings,
      {
        apiVersion,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: rbac, kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: metadata.namespace }],
      },
    ],
  ];
}

/** Time limit of both Jobs; it also ends a Job whose image cannot be pulled. */
const longestJob = minutes(30);

function jobOf(job: JobInputs, name: string, pod: object): KubeObject {
  const { pullSecretRef } = job.controlPlane.spec.configSpec;
  const metadata = metadataOf(job, name);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      completions: 1,
      parallelism: 1,
      backoffLimit: 1,
      activeDeadlineSeconds: longestJob / 1000,
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { operator: 'In', values: [exitCodes.input] } },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      template: {
        metadata: { labels: metadata.labels },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          imagePullSecrets: pullSecretRef && [pullSecretRef],
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          securityContext: { runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 },
          ...pod,
        },
      },
    },
  };
}

const containerOf = (name: string, image: string, limits: readonly string[], more: object) => ({
  name,
  image,
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  terminationMessagePolicy: 'FallbackToLogsOnError',
  resources: { requests: { cpu: limits[0], memory: limits[1] }, limits: { memory: limits[2] } },
  ...more,
});

/**
 * Asks the release for its images, as bootkube does: the release's own program prints a pull spec
 * (cluster-version-operator, command `image`). The kubelet pulls the release through the mirrors of
 * the management cluster.
 */
function imagesJob(job: JobInputs): KubeObject {
  const { controlPlane, inputs } = job;
  // The FIPS installer is a separate program, linked against the libraries of its system.
  const isFips = readInstallConfig(inputs)?.['fips'] === true;
  const installer = isFips ? 'baremetal-installer' : 'installer';
  const imageOf = (name: string): string => `cluster-version-operator image ${name}`;
  // The container image of CoreOS has had several names.
  const coreOs = ['rhel-coreos', 'stream-coreos', 'fedora-coreos'].map(imageOf);
  const script = [
    'set -e',
    imageOf(installer),
    imageOf('machine-config-operator'),
    [...coreOs.map((command) => `${command} 2>/dev/null`), 'true'].join(' || '),
  ];
  return jobOf(job, nameOf(controlPlane, 'images', inputs.releaseImage, installer), {
    containers: [
      containerOf('images', inputs.releaseImage, ['10m', '32Mi', '256Mi'], {
        command: ['/bin/sh', '-c', script.join('\n')],
      }),
    ],
  });
}

const inputsFolder = '/run/inputs';
const outputFolder = '/output';

/** Name of the file with all output of the installer. */
export const installerLog = 'installer.log';

/** Runs the release's installer in its own image, then this program, which stores the files. */
function installerJob(job: JobInputs, images: ReleaseImages, ownImage: string): KubeObject {
  const { controlPlane, cluster, inputs, hash } = job;
  const runs = installerRuns(inputs);
  const output = { name: 'output', mountPath: outputFolder };
  const token = {
    name: 'token',
    mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
    readOnly: true,
  };
  const flags = {
    folder: outputFolder,
    'inputs-hash': hash,
    'control-plane': controlPlane.metadata.name,
    uid: controlPlane.metadata.uid ?? '',
    namespace: controlPlane.metadata.namespace ?? '',
    cluster: cluster.metadata.name,
    'mco-image': images.mco,
    'coreos-image': images.coreOs,
  };
  const args = Object.entries(flags).filter(([, value]) => value !== '');
  return jobOf(job, nameOf(controlPlane, 'installer', hash), {
    serviceAccountName: accountName(controlPlane),
    volumes: [
      { name: 'inputs', projected: { defaultMode: 0o440, sources: sourcesOf(runs) } },
      { name: 'output', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
      // The volume that the API server would mount into all containers of an account; the installer
      // gets no token.
      {
        name: 'token',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          ],
        },
      },
    ],
    initContainers: [
      containerOf('installer', images.installer, ['200m', '512Mi', '2Gi'], {
        command: ['/bin/sh', '-c', scriptOf(runs)],
        env: [
          { name: 'HOME', value: outputFolder },
          { name: 'OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE', value: inputs.releaseImage },
        ],
        volumeMounts: [output, { name: 'inputs', mountPath: inputsFolder, readOnly: true }],
      }),
    ],
    containers: [
      containerOf('assets', ownImage, ['50m', '64Mi', '512Mi'], {
        args: ['capi', 'assets', ...args.flatMap(([flag, value]) => [`--${flag}`, value])],
        volumeMounts: [output, token],
      }),
    ],
  });
}

/**
 * Volumes with the files of the folder before each run, `RUN/PATH`, from the Secrets themselves.
 */
function sourcesOf(runs: readonly InstallerRun[]): readonly object[] {
  const items = runs.flatMap(({ files }, at) =>
    files.map(({ secret, key, path }) => ({ secret, item: { key, path: `${at}/${path}` } })),
  );
  return [...Map.groupBy(items, ({ secret }) => secret)].map(([name, all]) => ({
    secret: { name, items: all.map(({ item }) => item) },
  }));
}

/**
 * The script that runs the installer. The log stays in the pod; its end is the message of a failed
 * run. Files of a Secret are 0440, and the installer, which is not root, overwrites its state.
 */
function scriptOf(runs: readonly InstallerRun[]): string {
  const log = `${outputFolder}/${installerLog}`;
  const lines = runs.flatMap(({ command, files }, at) => [
    ...(files.length === 0
      ? []
      : [`cp -rL --no-preserve=mode ${inputsFolder}/${at}/. ${outputFolder}/`]),
    `openshift-install create ${command} --dir ${outputFolder} >>${log} 2>&1 || { tail -n 20 ${log}; exit 1; }`,
  ]);
  return ['umask 077', ...lines].join('\n');
}
