import { controllerName, controllerToken, gatheringPodName } from '../../cluster/controller.ts';
import { clusterRoleBindings, imageStreams, secrets, serviceAccounts } from '../../kube/kinds.ts';
import { noteFailed } from '../../engine/failures.ts';
import { listAt } from '../../kube/object.ts';
import { fieldsOf, isFields, textOf } from '../../lib/fields.ts';
import { jsonIn } from '../../lib/json.ts';
import { proxyEnv, revealedProxies } from '../../lib/proxies.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { InstallationView } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { cleanUpSignal, controllerFailure } from './failures.ts';
import { ownedBy, runPod } from './run-pod.ts';
import type { ControllerConfig, StepScope } from './scope.ts';

/** The failed parts of an installation, whose state has to be gathered. */
export interface Gathering {
  /** The cluster has failed at the service. */
  readonly isInError: boolean;
  /** Names of the failed operators. */
  readonly failedOperators: readonly string[];
}

/**
 * The failed parts, from the service's state, which a restarted controller reads too; undefined
 * without a failure.
 */
export async function neededGathering({
  inventory,
  signal,
}: Pick<StepScope, 'inventory' | 'signal'>): Promise<Gathering | undefined> {
  const first = new AbortController();
  let view: InstallationView = {};
  await inventory.follow(
    (seen) => {
      view = seen;
      first.abort();
    },
    AbortSignal.any([signal, first.signal]),
  );
  const operators = await inventory.operators(signal).catch(() => {
    signal.throwIfAborted();
    return [];
  });
  // A cluster that its user has cancelled has operators that are not available; their state is not
  // needed.
  const failedOperators = operators
    .filter(({ type, status }) => type === 'olm' && status === 'failed')
    .map(({ name }) => name);
  const isInError = view.cluster?.status === 'error';
  return isInError || failedOperators.length > 0 ? { isInError, failedOperators } : undefined;
}

/**
 * The images in MUST_GATHER_IMAGE: one image, or a JSON object in which `ocp` is for the cluster
 * and the others are for operators. Without the variable: the image of the release. A missing entry
 * is skipped; assisted-installer-controller used an image without a name.
 */
export function gatheringImages(
  setting: string,
  { isInError, failedOperators }: Gathering,
): readonly GatheringImage[] {
  if (setting === '') return [];
  const images = jsonIn(setting);
  if (!isFields(images)) return [{ name: 'ocp', image: setting }];
  return [...(isInError ? ['ocp'] : []), ...failedOperators].flatMap((name) => {
    const image = images[name];
    return typeof image === 'string' && image !== '' ? [{ name, image }] : [];
  });
}

/** The image stream of the release that `oc adm must-gather` uses. */
const releaseStream = { kind: imageStreams, namespace: 'openshift', name: 'must-gather' } as const;

/** The image of the newest tag of an image stream; empty if absent. */
function latestImage(stream: KubeObject | undefined): string {
  const tags = listAt(stream, 'status', 'tags').map(fieldsOf);
  const { items } = tags.find(({ tag }) => tag === 'latest') ?? {};
  return textOf(fieldsOf(Array.isArray(items) ? items[0] : undefined)['dockerImageReference']);
}

/**
 * Gathers the state of the cluster in a pod, which uploads it to the service together with the log
 * of the controller: the hundreds of MiB do not pass through this program. The pod has the rights
 * of an administrator, like that of `oc adm must-gather`; all objects created for it are deleted
 * again.
 * @param controller the pod of the controller, if found
 * @throws AgentError `controller.not-gathered`, `kube.*`
 */
export async function gatherCluster(
  scope: Pick<StepScope, 'adminKube' | 'clock' | 'config' | 'signal' | 'note'>,
  gathering: Gathering,
  controller: KubeObject | undefined,
): Promise<void> {
  const { adminKube: admin, config, signal, note } = scope;
  const { namespace } = config;
  let images = gatheringImages(config.images.mustGather, gathering);
  if (images.length === 0) {
    const image = latestImage(await admin.get(releaseStream, signal));
    if (image === '') throw notGathered('the cluster names no image that gathers');
    images = [{ name: 'release', image }];
  }
  const made = [
    { kind: serviceAccounts, namespace, object: ownedBy(controller, accountIn(namespace)) },
    // A namespaced object cannot own a cluster-scoped one.
    { kind: clusterRoleBindings, object: bindingOf(namespace) },
    { kind: secrets, namespace, object: ownedBy(controller, gatheringSecret(config)) },
  ];
  try {
    // A killed controller may have left these objects.
    for (const { object } of made) await admin.apply(object, signal);
    note('info', 'gathering the state of the cluster', {
      images: images.map(({ image }) => image).join(' '),
    });
    const pod = ownedBy(controller, gatheringPod(config, images, controller));
    const { isSuccess, log } = await runPod(scope, pod, 'upload', longestGatheringPod + minutes(1));
    if (!isSuccess) throw notGathered(log.trim().split('\n').at(-1) ?? '');
  } finally {
    // All at once: a controller that stops has little time.
    await Promise.all(
      made.map(({ kind, namespace: place }) =>
        admin
          .remove({ kind, name: gatheringPodName, namespace: place }, cleanUpSignal(signal))
          .catch((error: unknown) => {
            const reason = String(error);
            note('warn', `${kind.plural} ${gatheringPodName} could not be removed`, { reason });
          }),
      ),
    );
  }
}

const notGathered = (said: string): AgentError =>
  controllerFailure(
    'controller.not-gathered',
    `the cluster was not gathered: ${said.slice(0, 300)}`,
  );

const accountIn = (namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: gatheringPodName, namespace },
});

/** The rights of the pod's account: cluster-admin, because must-gather reads everything. */
const bindingOf = (namespace: string): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: gatheringPodName },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'cluster-admin',
  },
  subjects: [{ kind: 'ServiceAccount', name: gatheringPodName, namespace }],
});

/**
 * Deletes the administrator binding that a controller left when it was killed while it gathered: no
 * object in the cluster can own a cluster-scoped binding.
 */
export async function removeLeftBinding(scope: StepScope): Promise<void> {
  try {
    const binding = { kind: clusterRoleBindings, name: gatheringPodName };
    await scope.kube.remove(binding, scope.signal);
  } catch (error) {
    noteFailed(scope, `clusterrolebinding ${gatheringPodName} could not be removed`, error);
  }
}

/** An image with a gathering script, by its name. */
interface GatheringImage {
  readonly name: string;
  readonly image: string;
}

/** `oc adm must-gather` has a timeout of ten minutes; a failed cluster answers slowly. */
const longestGathering = minutes(20);

/** The longest run of the pod: to gather, and to pull, pack and send. */
const longestGatheringPod = minutes(30);

const whole = { name: 'gathered', mountPath: '/gathered' } as const;

/**
 * The pod, beside the controller's: one container after the other gathers, then the last one packs
 * and sends the result. No secret is in an argv: curl reads its options from its standard input.
 */
export function gatheringPod(
  config: ControllerConfig,
  images: readonly GatheringImage[],
  controller: KubeObject | undefined,
): KubeObject {
  const { nodeName, hostAliases } = fieldsOf(controller?.['spec']);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: gatheringPodName,
      namespace: config.namespace,
      labels: { app: 'must-gather' },
    },
    spec: {
      activeDeadlineSeconds: longestGatheringPod / 1000,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      serviceAccountName: gatheringPodName,
      // `oc adm must-gather` runs without a SecurityContextConstraint. Here the first one that
      // permits the host network would set a user of the namespace, and the scripts of the images
      // require root.
      securityContext: { runAsUser: 0 },
      // The service is reachable where the controller runs, through the host's network and names.
      hostNetwork: true,
      dnsPolicy: 'Default',
      ...(nodeName === undefined ? { nodeSelector: onMasters } : { nodeName }),
      hostAliases,
      priorityClassName: 'system-cluster-critical',
      tolerations: [{ operator: 'Exists' }],
      volumes: volumesOf(config.service.caFile),
      initContainers: images.map((image) => gathers(image, longestGathering / images.length)),
      containers: [uploads(config, images[0]?.image, controller)],
    },
  };
}

const usual = {
  imagePullPolicy: 'IfNotPresent',
  resources: { requests: { cpu: '10m', memory: '64Mi' } },
} as const;

/** A timeout of one image must not prevent the upload of the rest. */
const gathers = ({ name, image }: GatheringImage, within: Millis): object => ({
  ...usual,
  name: `gather-${name}`,
  image,
  command: [
    '/bin/bash',
    '-c',
    `timeout ${Math.floor(within / 1000)} /usr/bin/gather; sync; exit 0`,
  ],
  env: [fromField('NODE_NAME', 'spec.nodeName'), fromField('POD_NAME', 'metadata.name')],
  volumeMounts: [{ name: whole.name, mountPath: '/must-gather', subPath: `must-gather/${name}` }],
});

/** The same variables as `oc adm must-gather` sets for the scripts. */
const fromField = (name: string, fieldPath: string): object => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});

/**
 * The addresses of the service and its proxies, which may contain a password. Users who may read
 * pods see their variables, and must-gather itself collects pods; it collects no Secret.
 */
export const gatheringSecret = (config: ControllerConfig): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: gatheringPodName, namespace: config.namespace },
  stringData: {
    ...proxyEnv(revealedProxies(config.proxy)),
    TARGET: `${config.service.url.reveal().replace(/\/$/, '')}/api/assisted-install/v2/clusters/${config.cluster.id}/logs?logs_type=controller`,
  },
});

function uploads(
  config: ControllerConfig,
  image: string | undefined,
  controller: KubeObject | undefined,
): object {
  const { insecure, caFile } = config.service;
  const env = {
    GATHERED: whole.mountPath,
    TOKEN_FILE: `${controllerToken.folder}/token`,
    NAMESPACE: config.namespace,
    CONTROLLER: controller?.metadata.name ?? `job/${controllerName}`,
    OPTIONS: [
      ...(insecure ? ['insecure'] : []),
      ...(caFile === '' ? [] : [`cacert = "${caFile}"`]),
    ].join('\n'),
  };
  return {
    ...usual,
    name: 'upload',
    image,
    command: ['/bin/bash', '-c', uploadScript],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    envFrom: [{ secretRef: { name: gatheringPodName } }],
    volumeMounts: [
      whole,
      { name: 'token', mountPath: controllerToken.folder, readOnly: true },
      ...(caFile === '' ? [] : [{ name: 'ca', mountPath: caFile, readOnly: true }]),
    ],
  };
}

const onMasters = { 'node-role.kubernetes.io/master': '' };

const volumesOf = (caFile: string): readonly object[] => [
  { name: whole.name, emptyDir: { sizeLimit: '8Gi' } },
  {
    name: 'token',
    secret: {
      secretName: controllerToken.secretName,
      items: [{ key: controllerToken.key, path: 'token' }],
      defaultMode: 0o400,
      optional: true,
    },
  },
  ...(caFile === '' ? [] : [{ name: 'ca', hostPath: { path: caFile, type: 'File' } }]),
];

/** `X-Secret-Key;` makes curl send a header without a value. */
const uploadScript = `set -euo pipefail
cd "$GATHERED"
tar -czf must-gather.tar.gz must-gather
rm -rf must-gather
log=assisted-installer-controller.logs
oc logs --namespace "$NAMESPACE" "$CONTROLLER" > "$log" || echo 'the log could not be read' >> "$log"
tar -czf controller_logs.tar.gz must-gather.tar.gz "$log"
token=$(cat "$TOKEN_FILE" || true)
header='X-Secret-Key;'
[ -z "$token" ] || header="X-Secret-Key: $token"
printf 'url = "%s"\\nheader = "%s"\\n%s\\n' "$TARGET" "$header" "$OPTIONS" |
  curl --config - --silent --show-error --fail --retry 3 --max-time 600 \\
    --form 'upfile=@controller_logs.tar.gz;type=application/x-gzip' --output /dev/null
echo 'uploaded'
`;
