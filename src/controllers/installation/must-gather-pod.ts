import { controllerName, controllerToken, gatheringPodName } from '../../cluster/controller.ts';
import { fieldsOf } from '../../lib/fields.ts';
import { proxyEnv, revealedProxies } from '../../lib/proxies.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ControllerConfig } from './scope.ts';

/** An image with a gathering script, by its name. */
export interface GatheringImage {
  readonly name: string;
  readonly image: string;
}

/** `oc adm must-gather` has a timeout of ten minutes; a failed cluster answers slowly. */
const longestGathering = minutes(20);

/** The longest run of the pod: to gather, and to pull, pack and send. */
export const longestGatheringPod = minutes(30);

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
