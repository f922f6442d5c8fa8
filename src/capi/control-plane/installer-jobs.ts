import { createHash } from 'node:crypto';
import { jobs, pods, serviceAccounts } from '../../kube/kinds.ts';
import { type Fields, fieldsOf } from '../../lib/fields.ts';
import { parseYaml } from '../../lib/yaml-text.ts';
import { installConfigText } from '../install-state.ts';
import { installerMask } from '../../lib/installer-mask.ts';
import { plainLine } from '../../lib/plain-text.ts';
import {
  installerFailure,
  installerFailures,
  type InstallerRun,
  installerRuns,
  type InstallInputs,
} from './installer.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import { createOnce, isControlledBy, refTo } from '../objects.ts';
import { conditionOf, listAt, partOf, textAt } from '../../kube/object.ts';
import { minutes } from '../../model/duration.ts';
import { exitCodes } from '../../model/failure.ts';
import { type CapiCluster, capiNames, type OpenShiftControlPlane } from '../api.ts';
import { beginOf, ownerOf } from './machines.ts';

const rbac = (plural: string): KubeKind => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
});

/** Kinds of what the Job of the installer needs, in the order in which it is made. */
const accountKinds = [serviceAccounts, rbac('roles'), rbac('rolebindings')];

/**
 * Takes the next step to the files of a cluster by Jobs: which images the release has, then its
 * installer. All is found again by the names of the Jobs. An event of a Job calls for the next
 * step.
 * @throws AgentError `installer.*` where a Job has failed
 */
export async function stepByJobs(
  { kube, ownImage }: { readonly kube: Kube; readonly ownImage: string | undefined },
  job: JobFor,
  signal: AbortSignal,
): Promise<void> {
  if (ownImage === undefined) {
    throw installerFailure('installer.not-run', 'BOOTWRIGHT_IMAGE names no image');
  }
  const step = jobNow(kube, job);
  const asked = await step({ name: imagesJobName(job), make: () => imagesJob(job) }, signal);
  if (asked === undefined) return;
  const images = await imagesOf(kube, asked, signal);
  const make = async (): Promise<KubeObject> => {
    await removeFormer(kube, job, signal);
    for (const [at, object] of accountObjects(job).entries()) {
      const kind = accountKinds[at];
      if (kind !== undefined) await createOnce(kube, kind, object, signal);
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
      await createOnce(kube, jobs, await make(), signal);
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
  for (const one of found) await removeJob(kube, one, signal);
}

const removeJob = (kube: Kube, { metadata }: KubeObject, signal: AbortSignal): Promise<void> =>
  kube.remove({ ...refTo(jobs, { metadata }), uid: metadata.uid }, signal);

/**
 * The first Secret counts: a Job of inputs that were corrected since must not be the one that makes
 * it.
 */
async function removeFormer(kube: Kube, job: JobFor, signal: AbortSignal): Promise<void> {
  const { namespace = '', uid } = job.controlPlane.metadata;
  const all = await kube.list({ kind: jobs, namespace, labelSelector: `app=${assetsApp}` }, signal);
  for (const one of all)
    if (isControlledBy(one, uid) && one.metadata.name !== imagesJobName(job))
      await removeJob(kube, one, signal);
}

/** Label of all that runs for the files of a cluster. */
export const assetsApp = 'bootwright-installer';

/** Label of a Job: name of its control plane. */
const ofControlPlane = 'bootwright.io/control-plane';

/** Where containers of the Job find what they are given, and leave what they make. */
const folders = { inputs: '/run/inputs', output: '/output' } as const;

/** Of both Jobs; an image that cannot be pulled ends it too. */
const longestJob = minutes(30);

/** What a Job is for. */
export interface JobFor {
  readonly controlPlane: OpenShiftControlPlane;
  readonly cluster: CapiCluster;
  readonly inputs: InstallInputs;
  readonly hash: string;
}

/** Images of the release. */
export interface ReleaseImages {
  readonly installer: string;
  readonly mco: string;
  /** Empty where the release has none of the names. */
  readonly coreOs: string;
}

const nameOf = (
  { controlPlane }: Pick<JobFor, 'controlPlane'>,
  ...parts: readonly string[]
): string => {
  const { name, uid = '' } = controlPlane.metadata;
  const [what = '', ...rest] = parts;
  const hash = createHash('sha256')
    .update([uid, ...rest].join('/'))
    .digest('hex');
  return `${beginOf(name, 40)}-${what}-${hash.slice(0, 8)}`;
};

/**
 * The Job that asks the release for its images: of one control plane, release and installer, so
 * that it is found again.
 */
export const imagesJobName = (job: JobFor): string =>
  nameOf(job, 'images', job.controlPlane.spec.releaseImage, installerIn(job.inputs));

/**
 * Which installer of the release is run: that of FIPS is a program of its own, linked against the
 * libraries of its system.
 */
function installerIn({ installConfig: config, state }: InstallInputs): string {
  const text = installConfigText({ config, state })?.text ?? '';
  // As Go's YAML reads it, where `yes` is true too.
  const document = parseYaml(text, { version: '1.1' });
  const value = document.errors.length === 0 ? (document.toJS() as Fields) : undefined;
  return fieldsOf(value)['fips'] === true ? 'baremetal-installer' : 'installer';
}

/** The Job that runs the installer: with other inputs it is another one. */
export const installerJobName = (job: JobFor): string => nameOf(job, 'installer', job.hash);

/** Name of the account of the Job, of its role and of the binding. */
export const accountName = (job: Pick<JobFor, 'controlPlane'>): string =>
  nameOf(job, 'installer-account');

const metadataOf = ({ controlPlane, cluster }: Omit<JobFor, 'inputs' | 'hash'>, name: string) => ({
  name,
  namespace: controlPlane.metadata.namespace ?? '',
  labels: {
    app: assetsApp,
    [capiNames.clusterName]: cluster.metadata.name,
    [ofControlPlane]: beginOf(controlPlane.metadata.name),
  },
  ownerReferences: [{ ...ownerOf(controlPlane, false), controller: true }],
});

const security = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
} as const;

interface Pod {
  readonly account: string | undefined;
  readonly initContainers?: readonly object[];
  readonly containers: readonly object[];
  readonly volumes?: readonly object[];
}

function jobOf(job: JobFor, name: string, { account, ...pod }: Pod): KubeObject {
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
          ...pod,
          ...(account === undefined ? {} : { serviceAccountName: account }),
          ...(pullSecretRef === undefined ? {} : { imagePullSecrets: [pullSecretRef] }),
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          securityContext: { runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 },
        },
      },
    },
  };
}

/** Names of images in a release; CoreOS as a container has had several. */
export const imageContainers = ['installer', 'machine-config-operator', 'coreos'] as const;

/**
 * Asks the release which images it has, as bootkube does: its own program prints a pull spec
 * (cluster-version-operator, command `image`). The kubelet pulls it by the mirrors of the
 * management cluster.
 */
export function imagesJob(job: JobFor): KubeObject {
  const program = 'cluster-version-operator';
  const coreOs = ['rhel-coreos', 'stream-coreos', 'fedora-coreos'];
  const commands: Readonly<Record<(typeof imageContainers)[number], readonly string[]>> = {
    installer: [program, 'image', installerIn(job.inputs)],
    'machine-config-operator': [program, 'image', 'machine-config-operator'],
    coreos: [
      ...['/bin/sh', '-c'],
      `${coreOs.map((name) => `${program} image ${name} 2>/dev/null`).join(' || ')} || true`,
    ],
  };
  return jobOf(job, imagesJobName(job), {
    account: undefined,
    containers: imageContainers.map((name) => ({
      name,
      image: job.inputs.releaseImage,
      command: commands[name],
      securityContext: security,
      terminationMessagePolicy: 'FallbackToLogsOnError',
      resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '256Mi' } },
    })),
  });
}

/** What the pods of the Job may do: make a Secret in their namespace, and read none. */
export function accountObjects(job: JobFor): readonly KubeObject[] {
  const name = accountName(job);
  const metadata = metadataOf(job, name);
  const rbac = 'rbac.authorization.k8s.io';
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: metadata.namespace }],
    },
  ];
}

/** Runs the installer of the release by its own image; what it made becomes a Secret by ours. */
export function installerJob(job: JobFor, images: ReleaseImages, ownImage: string): KubeObject {
  const runs = installerRuns(job.inputs);
  const output = { name: 'output', mountPath: folders.output };
  const token = { name: 'token', mountPath: accountFolder, readOnly: true };
  return jobOf(job, installerJobName(job), {
    account: accountName(job),
    volumes: [
      { name: 'inputs', projected: { defaultMode: 0o440, sources: sourcesOf(job.inputs, runs) } },
      { name: 'output', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
      { name: 'token', projected: { sources: tokenSources } },
    ],
    initContainers: [
      {
        name: 'installer',
        image: images.installer,
        command: ['/bin/sh', '-c', script(runs)],
        env: [
          { name: 'HOME', value: folders.output },
          { name: 'OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE', value: job.inputs.releaseImage },
        ],
        securityContext: security,
        terminationMessagePolicy: 'FallbackToLogsOnError',
        resources: { requests: { cpu: '200m', memory: '512Mi' }, limits: { memory: '2Gi' } },
        volumeMounts: [output, { name: 'inputs', mountPath: folders.inputs, readOnly: true }],
      },
    ],
    containers: [
      {
        name: 'assets',
        image: ownImage,
        args: assetsArgs(job, images),
        securityContext: security,
        terminationMessagePolicy: 'FallbackToLogsOnError',
        resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '512Mi' } },
        volumeMounts: [output, token],
      },
    ],
  });
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * As the API server mounts them where an account is mounted into all containers; the installer has
 * none.
 */
const tokenSources = [
  { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
];

/** What lies in the folder before each run: `RUN/PATH`, from the Secrets themselves. */
function sourcesOf(inputs: InstallInputs, runs: readonly InstallerRun[]): readonly object[] {
  const bySecret = new Map<string, { readonly key: string; readonly path: string }[]>();
  const secretOf = (path: string): { readonly secret: string; readonly key: string } => {
    const manifest = inputs.manifests.find(({ folder, name }) => `${folder}/${name}` === path);
    return manifest === undefined
      ? { secret: inputs.stateSecret, key: path }
      : { secret: manifest.secret, key: manifest.name };
  };
  for (const [at, { files }] of runs.entries())
    for (const path of Object.keys(files)) {
      const { secret, key } = secretOf(path);
      bySecret.set(secret, [...(bySecret.get(secret) ?? []), { key, path: `${at}/${path}` }]);
    }
  return [...bySecret].map(([name, items]) => ({ secret: { name, items } }));
}

/** Name of the file with all that the installer wrote. */
export const installerLog = 'installer.log';

/**
 * Its log stays in the pod; the end of it is told where a run fails. Files of a Secret are 0440,
 * and the installer, which is not root, writes its state again.
 */
function script(runs: readonly InstallerRun[]): string {
  const { inputs, output } = folders;
  const log = `${output}/${installerLog}`;
  const lines = runs.flatMap(({ command, files }, at) => [
    ...(Object.keys(files).length === 0
      ? []
      : [`cp -rL --no-preserve=mode ${inputs}/${at}/. ${output}/`]),
    `openshift-install create ${command} --dir ${output} >>${log} 2>&1 || { tail -n 20 ${log}; exit 1; }`,
  ]);
  return ['umask 077', ...lines].join('\n');
}

const assetsArgs = (
  { controlPlane, cluster, hash }: JobFor,
  { mco, coreOs }: ReleaseImages,
): readonly string[] => [
  ...['capi', 'assets', '--folder', folders.output, '--inputs-hash', hash],
  ...['--control-plane', controlPlane.metadata.name, '--uid', controlPlane.metadata.uid ?? ''],
  ...['--namespace', controlPlane.metadata.namespace ?? '', '--cluster', cluster.metadata.name],
  ...['--mco-image', mco, ...(coreOs === '' ? [] : ['--coreos-image', coreOs])],
];

/** How a Job is (Kubernetes, `JobCondition`). */
export function jobState(job: KubeObject): 'running' | 'complete' | 'failed' {
  const isTrue = (type: string): boolean => conditionOf(job, type).status === 'True';
  if (isTrue('Complete')) return 'complete';
  return isTrue('Failed') || isTrue('FailureTarget') ? 'failed' : 'running';
}

/** What the containers of a Job said at their end, those first that failed. */
export function lastWords(pods: readonly KubeObject[]): string {
  const ended = pods.flatMap((pod) =>
    ['initContainerStatuses', 'containerStatuses'].flatMap((list) =>
      listAt(pod, 'status', list).map((one) => ({
        code: partOf(one as KubeObject, 'state', 'terminated', 'exitCode'),
        message: textAt(one as KubeObject, 'state', 'terminated', 'message'),
        waits: textAt(one as KubeObject, 'state', 'waiting', 'message'),
      })),
    ),
  );
  const failed = ended.find(
    ({ code, message }) => code !== undefined && code !== 0 && message !== '',
  );
  return failed?.message ?? ended.find(({ waits }) => waits !== '')?.waits ?? '';
}
