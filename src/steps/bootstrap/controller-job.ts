import { controllerName, controllerNamespace, controllerToken } from '../../cluster/controller.ts';
import type { Config } from '../../config/schema.ts';
import { basicCredentials, shownUrl } from '../../lib/shown-url.ts';
import { controllerImage } from '../conditions.ts';

/** The ConfigMap from which the controller takes its settings. */
const configMapName = 'assisted-installer-controller-config';

const { secretName, key: tokenKey, folder: tokenFolder } = controllerToken;

/** The label of the controller's objects. */
const labels = { app: controllerName } as const;

/** The hostname of a service that runs on the hosts themselves. */
const serviceHostname = 'assisted-api.local.openshift.io';

/** A directory or file of the node in the container. */
interface HostMount {
  readonly name: string;
  readonly hostPath: string;
  readonly mountPath: string;
}

/**
 * The job that runs the controller (assisted-installer, `assisted-installer-controller-pod.yaml`).
 * The Job controller adds the label `job-name`, by which the pods are found.
 */
export function controllerJob(config: Config, version: string): object {
  const mounts = hostMounts(config);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: controllerName, namespace: controllerNamespace },
    spec: {
      backoffLimit: 100,
      template: {
        metadata: { labels },
        spec: {
          ...hostAliases(config.controller.serviceIps),
          hostNetwork: true,
          containers: [
            {
              name: controllerName,
              image: controllerImage(config),
              ...withoutService(config),
              imagePullPolicy: 'IfNotPresent',
              env: environment(config, version),
              volumeMounts: [
                ...mounts.map(({ name, mountPath }) => ({ name, mountPath })),
                { name: 'pull-secret', mountPath: tokenFolder },
              ],
            },
          ],
          volumes: [
            ...mounts.map(({ name, hostPath }) => ({ name, hostPath: { path: hostPath } })),
            tokenVolume,
          ],
          restartPolicy: 'OnFailure',
          nodeSelector: { 'node-role.kubernetes.io/master': '' },
          serviceAccountName: controllerName,
          tolerations: tolerations(config),
        },
      },
    },
  };
}

/** Our own image starts the controller without an argument only where all variables of a service are there. */
const withoutService = ({ service }: Config): object =>
  service.url.isEmpty ? { args: ['controller'] } : {};

/** Only its owner may read the token in the container. */
const tokenVolume = {
  name: 'pull-secret',
  secret: {
    secretName,
    defaultMode: 0o400,
    items: [{ key: tokenKey, path: 'token' }],
  },
} as const;

const isSingle = ({ cluster }: Config): boolean => cluster.controlPlaneCount === 1;

function hostAliases(addresses: readonly string[]): object {
  if (addresses.length === 0) return {};
  return { hostAliases: addresses.map((ip) => ({ ip, hostnames: [serviceHostname] })) };
}

const urlKey = 'inventory-url';

/** Whoever may read ConfigMaps would see the user and the password in the address of the service. */
function hasCredentials({ url }: Config['service']): boolean {
  const parsed = URL.parse(url.reveal());
  return parsed !== null && basicCredentials(parsed) !== undefined;
}

function environment({ controller, service }: Config, version: string): readonly object[] {
  const from = (name: string, key: string, options: object = {}): object => ({
    name,
    valueFrom: { configMapKeyRef: { name: configMapName, key, ...options } },
  });
  const optional = { optional: true };
  return [
    from('CLUSTER_ID', 'cluster-id'),
    hasCredentials(service)
      ? { name: 'INVENTORY_URL', valueFrom: { secretKeyRef: { name: secretName, key: urlKey } } }
      : from('INVENTORY_URL', urlKey),
    from('CA_CERT_PATH', 'ca-cert-path', optional),
    from('SKIP_CERT_VERIFICATION', 'skip-cert-verification', optional),
    { name: 'OPENSHIFT_VERSION', value: version },
    from('CONTROL_PLANE_COUNT', 'control-plane-count', optional),
    from('CHECK_CLUSTER_VERSION', 'check-cluster-version', optional),
    from('MUST_GATHER_IMAGE', 'must-gather-image', optional),
    { name: 'NOTIFY_NUM_REBOOTS', value: String(controller.notifyNumReboots) },
  ];
}

function hostMounts(config: Config): readonly HostMount[] {
  const { caFile } = config.service;
  const mounts: HostMount[] = [
    { name: 'host-ca-bundle', hostPath: '/etc/pki', mountPath: '/etc/pki' },
    {
      name: 'host-var-run-resolv-conf',
      hostPath: '/var/run/NetworkManager/resolv.conf',
      mountPath: '/tmp/var-run-resolv.conf',
    },
    {
      name: 'host-resolv-conf',
      hostPath: '/etc/resolv.conf',
      mountPath: '/tmp/host-resolv.conf',
    },
  ];
  if (isSingle(config)) {
    mounts.push({
      name: 'sno-bootstrap-files',
      hostPath: '/etc/kubernetes/bootstrap-secrets',
      mountPath: '/tmp/bootstrap-secrets',
    });
  }
  if (caFile !== '') {
    mounts.push({ name: 'service-ca-cert-config', hostPath: caFile, mountPath: caFile });
  }
  return mounts;
}

/** A single node is not ready yet when the job starts on it. */
function tolerations(config: Config): readonly object[] {
  const keys = [
    'node-role.kubernetes.io/master',
    ...(isSingle(config)
      ? ['node.kubernetes.io/not-ready', 'node.kubernetes.io/network-unavailable']
      : []),
  ];
  return keys.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' }));
}

/** The settings of the controller. Every value is a string. */
export function controllerConfigMap({ cluster, service, controller, images }: Config): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: configMapName, namespace: controllerNamespace, labels },
    data: {
      'cluster-id': cluster.id,
      [urlKey]: hasCredentials(service) ? shownUrl(service.url.reveal()) : service.url.reveal(),
      'skip-cert-verification': String(service.insecure),
      'ca-cert-path': service.caFile,
      'check-cluster-version': String(controller.checkClusterVersion),
      'control-plane-count': String(cluster.controlPlaneCount),
      'must-gather-image': images.mustGather,
    },
  };
}

/** The token of the controller for the service. The returned object is secret. */
export function controllerSecret({ service }: Config): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace: controllerNamespace, labels },
    type: 'Opaque',
    stringData: {
      [tokenKey]: service.token?.reveal() ?? '',
      ...(hasCredentials(service) ? { [urlKey]: service.url.reveal() } : {}),
    },
  };
}
