import { controllerName, controllerToken, gatheringPodName } from '../../cluster/controller.ts';
import { fieldsOf } from '../../lib/fields.ts';
import { proxyEnv, revealedProxies } from '../../lib/proxies.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ControllerConfig } from './scope.ts';

/** An image that gathers, by what it is for. */
export interface GatheringImage {
  readonly name: string;
  readonly image: string;
}

/**
 * What `oc adm must-gather` gives itself is ten minutes; a cluster that has failed answers slowly.
 */
const longestGathering = minutes(20);

/** How long the pod may run: to gather, and to pull, pack and send. */
export const longestGatheringPod = minutes(30);

const whole = { name: 'gathered', mountPath: '/gathered' } as const;

/**
 * The pod, beside that of the controller: one container after the other gathers, then the last one
 * packs and sends it. Nothing that is secret is in an argv: curl reads its options from its
 * standard input.
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
      // `oc adm must-gather` runs where no constraint applies. Here one would give a user of the
      // namespace, as the first that permits the network of the host does, and the scripts of its
      // images are made for root.
      securityContext: { runAsUser: 0 },
      // Where the controller runs the service can be reached, by its host's network and names.
      hostNetwork: true,
      dnsPolicy: 'Default',
      ...(nodeName === undefined ? { nodeSelector: onMasters } : { nodeName }),
      ...(hostAliases === undefined ? {} : { hostAliases }),
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

/** What one image cannot gather in its time keeps nothing of the rest from being sent. */
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

/** As `oc adm must-gather` gives it to the scripts. */
const fromField = (name: string, fieldPath: string): object => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});

/**
 * The addresses of the service and its proxies, which may have a password in them. Whoever may read
 * pods sees their variables, and must-gather itself collects them; it collects no Secret.
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

/** `X-Secret-Key;` is how curl sends a header without a value. */
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
