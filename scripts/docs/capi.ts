import { Document, Scalar, stringify, visit } from 'yaml';
import type { BootstrapConfigSpec, ControlPlaneSpec } from '../../src/capi/api.ts';
import { providerComponents } from '../../src/capi/components.ts';
import { version } from '../../src/model/version.ts';
import type { KubeObject } from '../../src/ports/kube.ts';

const folder = 'deploy/capi';

/** The files of a release as clusterctl reads them, and samples of what a user applies. */
export function capiFiles(): Readonly<Record<string, string>> {
  return {
    [`${folder}/bootstrap-components.yaml`]: head + documents(providerComponents.bootstrap),
    [`${folder}/control-plane-components.yaml`]: head + documents(providerComponents.controlPlane),
    [`${folder}/metadata.yaml`]: head + yamlOf(metadata()),
    [`${folder}/samples/metal3.yaml`]: sampleHead + documents(sample()),
  };
}

const head = '# This file is written by `npm run docs`.\n';
const sampleHead = `${head}# Three masters and two workers on bare metal. Replace the names of example, and words in capitals.\n# Hosts that start a live system have, in place of writeMode, rootDeviceHints: { minSizeGigabytes: 400, rotational: false }\n`;

const documents = (objects: readonly object[]): string =>
  objects.map((object) => `---\n${yamlOf(object)}`).join('');

/**
 * Read as YAML 1.1 by clusterctl and kubectl, where `on` and `0644` are no strings. What has a variable is quoted: clusterctl replaces it before
 * it reads the file, and an address of IPv6 may end with a colon.
 */
function yamlOf(object: object): string {
  const document = new Document(object, { schema: 'yaml-1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, scalar) => {
      if (String(scalar.value).includes('${')) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Which contract a release has (clusterctl, provider contract). */
function metadata(): object {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return {
    apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
    kind: 'Metadata',
    releaseSeries: [{ major, minor, contract: 'v1beta2' }],
  };
}

const name = 'example';
const clusterGroup = 'cluster.x-k8s.io';
const bootstrapGroup = `bootstrap.${clusterGroup}`;
const controlPlaneGroup = `controlplane.${clusterGroup}`;
const infrastructureGroup = `infrastructure.${clusterGroup}`;
/** Of what no Cluster owns, so that clusterctl moves it too. */
const own = { [`${clusterGroup}/cluster-name`]: name, [`clusterctl.${clusterGroup}/move`]: '' };

const inNamespace = (
  [apiVersion, kind, called]: readonly [string, string, string],
  content: object,
): KubeObject => {
  const { metadata, ...rest } = content as Partial<KubeObject>;
  return { apiVersion, kind, metadata: { name: called, namespace: name, ...metadata }, ...rest };
};

const configSpec: BootstrapConfigSpec = {
  agent: { image: 'registry.example/bootwright:latest' },
  writeMode: 'ExistingRoot',
  pullSecretRef: { name: 'pull-secret' },
  sshAuthorizedKeys: ['ssh-ed25519 KEY'],
  nodeRegistration: { labels: { 'metal3.io/uuid': '$METADATA_UUID' } },
};

const controlPlaneSpec: ControlPlaneSpec = {
  replicas: 3,
  distributionVersion: '4.20.0',
  releaseImage: 'quay.io/openshift-release-dev/ocp-release@sha256:DIGEST',
  installStateSecretRef: { name: `${name}-install-state` },
  manifestsSelector: { matchLabels: { 'bootwright.io/install-manifests': name } },
  machineTemplate: {
    spec: {
      infrastructureRef: {
        ...{ apiGroup: infrastructureGroup, kind: 'Metal3MachineTemplate' },
        name: `${name}-masters`,
      },
    },
  },
  configSpec,
};

const installConfig = {
  apiVersion: 'v1',
  metadata: { name },
  baseDomain: 'example.com',
  controlPlane: { name: 'master', replicas: 3 },
  compute: [{ name: 'worker', replicas: 2 }],
  networking: { networkType: 'OVNKubernetes', machineNetwork: [{ cidr: '192.0.2.0/24' }] },
  platform: { none: {} },
  pullSecret: '{"auths":{}}',
};

/** A disk image of CoreOS with a config drive: a live ISO would be given no user data by Metal3. */
const metal3Machines = (template: string): KubeObject =>
  inNamespace([`${infrastructureGroup}/v1beta1`, 'Metal3MachineTemplate', template], {
    metadata: { labels: own },
    spec: {
      template: {
        spec: {
          image: {
            url: 'https://images.example/rhcos.qcow2',
            ...{ checksum: 'SHA256', checksumType: 'sha256', format: 'qcow2' },
          },
        },
      },
    },
  });

function sample(): readonly KubeObject[] {
  const infrastructureRef = (kind: string, called: string) => ({
    ...{ apiGroup: infrastructureGroup, kind, name: called },
  });
  const endpoint = { host: '192.0.2.5', port: 6443 };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    inNamespace(['v1', 'Secret', 'pull-secret'], {
      metadata: { labels: own },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': '{"auths":{}}' },
    }),
    inNamespace(['v1', 'Secret', `${name}-install-state`], {
      metadata: { labels: { ...own, 'bootwright.io/install-state': name } },
      stringData: { 'install-config.yaml': stringify(installConfig) },
    }),
    inNamespace(['v1', 'Secret', `${name}-manifests`], {
      metadata: {
        labels: { ...own, 'bootwright.io/install-manifests': name },
        annotations: { 'bootwright.io/manifest-folder': 'openshift' },
      },
      stringData: { '99-motd.yaml': stringify(machineConfig()) },
    }),
    inNamespace([`${infrastructureGroup}/v1beta1`, 'Metal3Cluster', name], {
      spec: { controlPlaneEndpoint: endpoint, cloudProviderEnabled: false },
    }),
    metal3Machines(`${name}-masters`),
    inNamespace([`${controlPlaneGroup}/v1alpha1`, 'OpenShiftControlPlane', name], {
      spec: controlPlaneSpec,
    }),
    inNamespace([`${clusterGroup}/v1beta2`, 'Cluster', name], {
      spec: {
        clusterNetwork: {
          pods: { cidrBlocks: ['10.128.0.0/14'] },
          services: { cidrBlocks: ['172.30.0.0/16'] },
        },
        controlPlaneEndpoint: endpoint,
        controlPlaneRef: { apiGroup: controlPlaneGroup, kind: 'OpenShiftControlPlane', name },
        infrastructureRef: infrastructureRef('Metal3Cluster', name),
      },
    }),
    metal3Machines(`${name}-workers`),
    inNamespace(
      [`${bootstrapGroup}/v1alpha1`, 'OpenShiftBootstrapConfigTemplate', `${name}-workers`],
      { spec: { template: { spec: configSpec } } },
    ),
    workers(infrastructureRef('Metal3MachineTemplate', `${name}-workers`)),
    healthCheck(),
  ];
}

function machineConfig(): object {
  const content = { source: 'data:,Installed%20by%20Cluster%20API%0A' };
  return {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: {
      name: '99-worker-motd',
      labels: { 'machineconfiguration.openshift.io/role': 'worker' },
    },
    spec: {
      config: {
        ignition: { version: '3.2.0' },
        storage: { files: [{ path: '/etc/motd.d/capi', mode: 0o644, contents: content }] },
      },
    },
  };
}

function workers(infrastructureRef: object): KubeObject {
  const labels = { pool: `${name}-workers` };
  const configRef = {
    ...{ apiGroup: bootstrapGroup, kind: 'OpenShiftBootstrapConfigTemplate' },
    name: `${name}-workers`,
  };
  return inNamespace([`${clusterGroup}/v1beta2`, 'MachineDeployment', `${name}-workers`], {
    spec: {
      ...{ clusterName: name, replicas: 2, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: { clusterName: name, bootstrap: { configRef }, infrastructureRef },
      },
    },
  });
}

/** An installation takes longer than the ten minutes after which a Machine without a Node would be deleted. */
const healthCheck = (): KubeObject =>
  inNamespace([`${clusterGroup}/v1beta2`, 'MachineHealthCheck', `${name}-workers`], {
    spec: {
      ...{ clusterName: name, selector: { matchLabels: { pool: `${name}-workers` } } },
      checks: {
        nodeStartupTimeoutSeconds: 0,
        unhealthyNodeConditions: [{ type: 'Ready', status: 'Unknown', timeoutSeconds: 600 }],
      },
    },
  });
