import { controllerName, controllerNamespace, controllerToken } from '../../cluster/controller.ts';
import type { Config } from '../../config/schema.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import { basicCredentials, shownUrl } from '../../lib/shown-url.ts';
import { minutes } from '../../model/duration.ts';
import {
  controllerImage,
  deploysController,
  isOwnController,
  whyNoFollower,
} from '../conditions.ts';
import {
  controllerRules,
  controllerNamespaceRules,
  foreignRules,
} from './controller-permissions.ts';
import { step } from '../step.ts';
import { BootstrapIgnition } from './fetch-ignition.ts';
import { renderYaml } from './render-yaml.ts';

const inNamespace = { name: controllerName, namespace: controllerNamespace };
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const subjects = [{ kind: 'ServiceAccount', ...inNamespace }];
const roleRef = (kind: string) => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name: controllerName,
});

const podSecurity = 'pod-security.kubernetes.io';

/**
 * Every manifest of the controller as a file, in the order of their writing, under the names that
 * they have in assisted-installer's `deploy` directory; only root may read a file with a secret.
 */
export function controllerManifests(
  given: Config,
  version = given.cluster.openshiftVersion,
): readonly { readonly name: string; readonly content: string; readonly mode: number }[] {
  const config = asController(given);
  const isOwn = isOwnController(config);
  const objects: Readonly<Record<string, object>> = {
    cm: controllerConfigMap(config),
    secret: controllerSecret(config),
    pod: controllerJob(config, version),
    // Denies connections to pods of the namespace; a pod on the network of its node is exempt.
    'network-policy': {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'assisted-installer-network-policy', namespace: controllerNamespace },
    },
    // The pod uses the network and files of its node.
    nm: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: controllerNamespace,
        labels: {
          'security.openshift.io/scc.podSecurityLabelSync': 'false',
          [`${podSecurity}/enforce`]: 'privileged',
          [`${podSecurity}/audit`]: 'privileged',
          [`${podSecurity}/warn`]: 'privileged',
        },
      },
    },
    'role-binding': {
      ...rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: controllerName },
      roleRef: roleRef('ClusterRole'),
      subjects,
    },
    role: {
      ...rbac,
      kind: 'ClusterRole',
      metadata: { name: controllerName },
      rules: isOwn ? controllerRules : foreignRules,
    },
    sa: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inNamespace },
    ...(isOwn
      ? {
          'namespace-role': {
            ...rbac,
            kind: 'Role',
            metadata: inNamespace,
            rules: controllerNamespaceRules,
          },
          'namespace-role-binding': {
            ...rbac,
            kind: 'RoleBinding',
            metadata: inNamespace,
            roleRef: roleRef('Role'),
            subjects,
          },
        }
      : {}),
  };
  return Object.entries(objects).map(([name, object]) => ({
    name: `assisted-installer-controller-${name}.yaml`,
    content: renderYaml(object),
    mode: name === 'secret' ? 0o600 : 0o644,
  }));
}

/**
 * The part of the configuration for the controller; without the settings of a service that only
 * hosts may call.
 */
const asController = (config: Config): Config =>
  config.controller.withoutService
    ? {
        ...config,
        service: { ...config.service, url: new SecretUrl(''), token: undefined, caFile: '' },
        images: { ...config.images, self: controllerImage(config) },
      }
    : config;

/** bootkube applies the manifests in it to the new cluster. */
const manifestDirectory = '/opt/openshift/manifests';

const mkdirManifestsArgv = ['mkdir', '-p', manifestDirectory] as const;

/**
 * Writes the manifests of the controller, the part of the installation that runs in the cluster.
 * Each file is replaced as a whole.
 */
export const addControllerManifests = step({
  id: 'bootstrap/add-controller-manifests',
  title: "Add the controller's manifests to the cluster",
  uses: ['host'],
  needs: { bootstrap: BootstrapIgnition },
  when: deploysController,
  limit: minutes(5),
  explain: (config) => `controller image ${controllerImage(config)}`,
  preview: () => [mkdirManifestsArgv],
  run: async ({ host, config, signal, note }, { bootstrap }) => {
    if (!isOwnController(config)) note('info', `it has nothing to do: ${whyNoFollower(config)}`);
    await host.exec(mkdirManifestsArgv, { signal, limit: minutes(2) });
    for (const { name, content, mode } of controllerManifests(config, bootstrap.openshiftVersion)) {
      await host.writeFile(`${manifestDirectory}/${name}`, content, { signal, mode });
    }
  },
});

const configMapName = 'assisted-installer-controller-config';

const { secretName, key: tokenKey, folder: tokenFolder } = controllerToken;

const labels = { app: controllerName } as const;

/** The hostname of a service that runs on the hosts themselves. */
const aliasOfService = (ip: string) => ({ ip, hostnames: ['assisted-api.local.openshift.io'] });

/**
 * The job that runs the controller (assisted-installer, `assisted-installer-controller-pod.yaml`).
 * The Job controller adds the label `job-name`, which selects the pods.
 */
function controllerJob(config: Config, version: string): object {
  const mounts = hostMounts(config);
  const { serviceIps } = config.controller;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: controllerName, namespace: controllerNamespace },
    spec: {
      backoffLimit: 100,
      template: {
        metadata: { labels },
        spec: {
          ...(serviceIps.length === 0 ? {} : { hostAliases: serviceIps.map(aliasOfService) }),
          hostNetwork: true,
          containers: [
            {
              name: controllerName,
              image: controllerImage(config),
              // Our own image starts the controller without an argument only if all variables of
              // a service are set.
              ...(config.service.url.isEmpty ? { args: ['controller'] } : {}),
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
            {
              name: 'pull-secret',
              // Only its owner may read the token in the container.
              secret: {
                secretName,
                defaultMode: 0o400,
                items: [{ key: tokenKey, path: 'token' }],
              },
            },
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

const isSingle = ({ cluster }: Config): boolean => cluster.controlPlaneCount === 1;

const urlKey = 'inventory-url';

/**
 * Whether the address of the service contains a user and a password: everyone who may read
 * ConfigMaps would see them.
 */
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

function hostMounts(config: Config) {
  const { caFile } = config.service;
  const mounts = [
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

/** A single node is not Ready yet when the job starts on it. */
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
function controllerConfigMap({ cluster, service, controller, images }: Config): object {
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
function controllerSecret({ service }: Config): object {
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
