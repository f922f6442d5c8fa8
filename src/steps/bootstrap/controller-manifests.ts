import { controllerName, controllerNamespace } from '../../cluster/controller.ts';
import type { Config } from '../../config/schema.ts';
import { minutes, seconds } from '../../model/duration.ts';
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
} from '../controller/permissions.ts';
import { step } from '../step.ts';
import { controllerConfigMap, controllerJob, controllerSecret } from './controller-job.ts';
import { BootstrapIgnition } from './fetch-ignition.ts';
import { renderYaml } from './render-yaml.ts';

/** The permissions of the controller: of our own, or the same as those of the controller that is replaced. */
const controllerRole = (config: Config) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: controllerName },
  rules: isOwnController(config) ? controllerRules : foreignRules,
});

const inNamespace = { name: controllerName, namespace: controllerNamespace };

/** What our own controller may do in its namespace. */
const namespaceRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: inNamespace,
  rules: controllerNamespaceRules,
};

const namespaceRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: inNamespace,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: controllerName },
  subjects: [{ kind: 'ServiceAccount', ...inNamespace }],
};

/** Grants the controller its permissions. */
const controllerRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: controllerName },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: controllerName,
  },
  subjects: [{ kind: 'ServiceAccount', name: controllerName, namespace: controllerNamespace }],
};

/** The identity of the controller. */
const controllerServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: controllerName, namespace: controllerNamespace },
};

const podSecurity = 'pod-security.kubernetes.io';

/** The namespace of the controller, whose pod uses the network and files of its node. */
const namespaceManifest = {
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
};

/** Denies connections to pods of the namespace; a pod on the network of its node is exempt. */
const networkPolicyManifest = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'assisted-installer-network-policy', namespace: controllerNamespace },
};

/** A manifest as a file. */
interface ManifestFile {
  readonly name: string;
  readonly content: string;
  /** Of the file; a file with a secret is readable by root alone. */
  readonly mode: number;
}

/** The objects by the names that their files have in assisted-installer's `deploy` directory. */
const objects: Readonly<Record<string, (config: Config, version: string) => object>> = {
  cm: controllerConfigMap,
  secret: controllerSecret,
  pod: controllerJob,
  'network-policy': () => networkPolicyManifest,
  nm: () => namespaceManifest,
  'role-binding': () => controllerRoleBinding,
  role: controllerRole,
  sa: () => controllerServiceAccount,
};

/** Further ones of our own controller. */
const ownObjects: typeof objects = {
  'namespace-role': () => namespaceRole,
  'namespace-role-binding': () => namespaceRoleBinding,
};

/** Every manifest of the controller, in the order in which they are written. */
export const controllerManifests = (
  config: Config,
  version = config.cluster.openshiftVersion,
): readonly ManifestFile[] =>
  Object.entries({ ...objects, ...(isOwnController(config) ? ownObjects : {}) }).map(
    ([name, make]) => ({
      name: `assisted-installer-controller-${name}.yaml`,
      content: renderYaml(make(config, version)),
      mode: name === 'secret' ? 0o600 : 0o644,
    }),
  );

/** bootkube applies the manifests in it to the new cluster. */
const manifestDirectory = '/opt/openshift/manifests';

/** Creates the directory of the manifests. */
const mkdirManifestsArgv = ['mkdir', '-p', manifestDirectory] as const;

/**
 * Writes the manifests of the controller, the part of the installation that runs in the cluster. Each
 * file is replaced as a whole (ADR 0011, Q15).
 */
export const addControllerManifests = step({
  id: 'bootstrap/add-controller-manifests',
  title: "Add the controller's manifests to the cluster",
  uses: ['host'],
  needs: { bootstrap: BootstrapIgnition },
  when: deploysController,
  limit: minutes(2),
  explain: (config) => `controller image ${controllerImage(config)}`,
  preview: () => [mkdirManifestsArgv],
  run: async ({ host, config, signal, note }, { bootstrap }) => {
    if (!isOwnController(config))
      note('info', `nothing is left for it to do: ${whyNoFollower(config)}`);
    await host.exec(mkdirManifestsArgv, { signal, limit: seconds(20) });
    for (const { name, content, mode } of controllerManifests(config, bootstrap.openshiftVersion)) {
      await host.writeFile(`${manifestDirectory}/${name}`, content, { signal, mode });
    }
  },
});
