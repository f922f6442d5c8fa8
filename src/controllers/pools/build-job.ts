import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { listAt, partOf, textAt } from '../../layering/api/cluster-object.ts';
import { fieldsOf } from '../../layering/api/schema.ts';
import { jobOf, type PoolSnapshot } from '../../layering/hand-over/invariants.ts';
import type { BuildObjects } from '../../layering/roll-out/build-inputs.ts';
import { hours } from '../../model/duration.ts';
import { exitCodes } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';

/** Label of all that is made for a build, and the name of the account that its pods run as. */
export const buildApp = 'bootwright-build';

/** Where a pod finds what it builds from. */
const mounts = {
  objects: '/run/build/objects',
  pull: '/run/build/pull',
  push: '/run/build/push',
} as const;

const files = { osConfig: 'os-config.json', machineConfig: 'machine-config.json.gz' } as const;

/** Where the images of a build lie on its host; nothing else is there, and nothing stays. */
const storage = '/var/lib/bootwright-build';

/** Of all attempts together; the operator has none. */
const longestJob = hours(3);

/** What a build is run from. */
export interface BuildRun extends Omit<BuildObjects, 'machineConfigPool'> {
  /** The MachineOSBuild in the cluster. */
  readonly build: KubeObject;
  readonly namespace: string;
  /** The image of this program. */
  readonly image: string;
  /** Architecture of the nodes that the image is for, in the words of Kubernetes; undefined for any. */
  readonly architecture: string | undefined;
}

/** A Secret is of one MachineOSBuild: that of one with the same name that was removed is never taken for it. */
export const buildSecretName = ({ metadata: { name, uid = '' } }: KubeObject): string =>
  `${jobOf(name)}-${uid.slice(0, 8)}`;

const metadataOf = ({ build, namespace }: BuildRun, name: string): object => ({
  name,
  namespace,
  labels: {
    ...build.metadata.labels,
    app: buildApp,
    'machineconfiguration.openshift.io/machine-os-build': build.metadata.name,
  },
  // With the right to block its deletion the controller would need one more permission, and gain nothing.
  ownerReferences: [
    {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineOSBuild',
      name: build.metadata.name,
      uid: build.metadata.uid,
      controller: true,
    },
  ],
});

/** The objects that a pod builds from. A rendered MachineConfig holds keys, so that this is no ConfigMap. */
export function buildSecret(run: BuildRun): KubeObject {
  const { osConfig, machineConfig, build } = run;
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  const spec = {
    ...(osConfig['spec'] as object),
    renderedImagePushSpec: textAt(build, 'spec', 'renderedImagePushSpec'),
  };
  const { name } = osConfig.metadata;
  const pushed = { apiVersion, kind: 'MachineOSConfig', metadata: { name }, spec };
  const rendered = {
    ...{ apiVersion, kind: 'MachineConfig' },
    metadata: {
      name: machineConfig.metadata.name,
      annotations: machineConfig.metadata.annotations ?? {},
    },
    spec: machineConfig['spec'],
  };
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', immutable: true },
    metadata: metadataOf(run, buildSecretName(build)) as KubeObject['metadata'],
    data: {
      [files.osConfig]: Buffer.from(JSON.stringify(pushed)).toString('base64'),
      [files.machineConfig]: gzipSync(JSON.stringify(rendered), { level: 9 }).toString('base64'),
    },
  };
}

/**
 * The Job of a build. Our image has no program that builds: each node has podman and skopeo, with the mirrors, trust and
 * subscription that the image needs too. What an attempt cannot change ends the Job at once, and a pod that is evicted does
 * not count.
 */
export function buildJob(run: BuildRun): KubeObject {
  const { build } = run;
  const metadata = metadataOf(run, jobOf(build.metadata.name)) as KubeObject['metadata'];
  return {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata },
    spec: {
      ...{ completions: 1, parallelism: 1, backoffLimit: 3 },
      activeDeadlineSeconds: longestJob / 1000,
      podFailurePolicy: {
        rules: [
          {
            action: 'FailJob',
            onExitCodes: {
              ...{ containerName: 'build', operator: 'In' },
              values: [exitCodes.input, exitCodes.unsupported],
            },
          },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      template: { metadata: { labels: metadata.labels }, spec: podOf(run) },
    },
  };
}

function podOf({ build, osConfig, image, architecture }: BuildRun): object {
  const secret = (name: string, secretName: string): object => ({
    ...{ name, secret: { secretName, defaultMode: 0o400 } },
  });
  const pull = textAt(osConfig, 'spec', 'baseImagePullSecret', 'name');
  const pushSecret = textAt(osConfig, 'spec', 'renderedImagePushSecret', 'name');
  const volumes = [
    secret('objects', buildSecretName(build)),
    secret('push', pushSecret),
    ...(pull === '' ? [] : [secret('pull', pull)]),
  ];
  const own = volumes.map((volume) => {
    const name = partOf(volume as KubeObject, 'name') as keyof typeof mounts;
    return { name, mountPath: mounts[name], readOnly: true };
  });
  return {
    ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 30 },
    ...{ serviceAccountName: buildApp, automountServiceAccountToken: false },
    // The programs are those of the host, and so are its network and its names.
    ...{ hostPID: true, hostNetwork: true, dnsPolicy: 'Default' },
    nodeSelector: {
      'kubernetes.io/os': 'linux',
      ...(architecture === undefined ? {} : { 'kubernetes.io/arch': architecture }),
    },
    affinity: placement,
    tolerations: controlPlane.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' })),
    volumes: [...volumes, { name: 'pki', hostPath: { path: '/etc/pki', type: 'Directory' } }],
    containers: [
      {
        ...{ name: 'build', image, imagePullPolicy: 'IfNotPresent' },
        args: buildArgs(pull !== ''),
        // How it failed is in its last lines; what it writes itself is the digest.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        securityContext: { privileged: true, runAsUser: 0 },
        resources: {
          requests: { cpu: '500m', memory: '1Gi' },
          limits: { cpu: '4', memory: '8Gi' },
        },
        volumeMounts: [...own, { name: 'pki', mountPath: '/etc/pki', readOnly: true }],
      },
    ],
  };
}

const buildArgs = (hasPullSecret: boolean): readonly string[] => [
  ...['layer', 'build', '--on-host', '--storage', storage],
  ...['--os-config', `${mounts.objects}/${files.osConfig}`],
  ...['--rendered-config', `${mounts.objects}/${files.machineConfig}`],
  ...(hasPullSecret ? ['--authfile', mounts.pull] : []),
  ...['--push-authfile', mounts.push, '--digestfile', '/dev/termination-log'],
];

const controlPlane = ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'];

/** One build at a time on a node, as its folder is one; on a master only where there is nowhere else. */
const placement = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      {
        labelSelector: { matchLabels: { app: buildApp } },
        topologyKey: 'kubernetes.io/hostname',
      },
    ],
  },
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: 100,
        preference: {
          matchExpressions: controlPlane.map((key) => ({ key, operator: 'DoesNotExist' })),
        },
      },
    ],
  },
};

/** The image of this program, as a pod of it in the cluster has it. */
export function ownImage(pods: readonly KubeObject[]): string | undefined {
  const images = ['bootwright-node-controller', 'bootwright-node-agent'].flatMap((app) =>
    pods
      .filter(({ metadata: { labels } }) => labels?.['app'] === app)
      .filter((pod) => textAt(pod, 'status', 'phase') === 'Running')
      .map((pod) => fieldsOf(listAt(pod, 'spec', 'containers')[0])['image']),
  );
  return images.find((image): image is string => typeof image === 'string' && image !== '');
}

/** The architecture of most nodes of a pool, in the words of Kubernetes, and those of another, as `NAME is ARCHITECTURE`. */
export interface PoolArchitecture {
  /** Undefined where no node says its own, or where as many say another. */
  readonly architecture: string | undefined;
  readonly others: readonly string[];
}

/** A kubelet says what it likes of its own node: one that says another architecture than the rest stops nothing. */
export function architectureOf({ nodes }: PoolSnapshot): PoolArchitecture {
  const said = nodes.flatMap(({ metadata: { name, labels } }) => {
    const architecture = labels?.['kubernetes.io/arch'] ?? '';
    return architecture === '' ? [] : [{ name, architecture }];
  });
  const architecture = said
    .map((one) => one.architecture)
    .find((one) => said.filter((other) => other.architecture === one).length * 2 > said.length);
  const others = said.filter((one) => one.architecture !== architecture);
  return { architecture, others: others.map((one) => `${one.name} is ${one.architecture}`) };
}
