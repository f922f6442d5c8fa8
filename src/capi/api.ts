import type { KubeKind, KubeMetadata, KubeObject } from '../ports/kube.ts';
import type { DiskHints } from '../settings/disk-hints.ts';

/** Kinds of the two providers and of Cluster API core, as the API server addresses them. */
const bootstrapGroup = 'bootstrap.cluster.x-k8s.io';
const controlPlaneGroup = 'controlplane.cluster.x-k8s.io';
const coreGroup = 'cluster.x-k8s.io';

const ours = (group: string, plural: string): KubeKind => ({ group, version: 'v1alpha1', plural });
const core = (plural: string): KubeKind => ({ group: coreGroup, version: 'v1beta2', plural });

export const controlPlanes = ours(controlPlaneGroup, 'openshiftcontrolplanes');
export const bootstrapConfigs = ours(bootstrapGroup, 'openshiftbootstrapconfigs');
export const clusters = core('clusters');
export const capiMachines = core('machines');
export const machineHealthChecks = core('machinehealthchecks');

/** `apiVersion` and `kind` of objects that the providers make. */
export const controlPlaneType = {
  apiVersion: `${controlPlaneGroup}/v1alpha1`,
  kind: 'OpenShiftControlPlane',
} as const;
export const bootstrapConfigType = {
  apiVersion: `${bootstrapGroup}/v1alpha1`,
  kind: 'OpenShiftBootstrapConfig',
} as const;
export const machineType = { apiVersion: `${coreGroup}/v1beta2`, kind: 'Machine' } as const;

/** Labels and annotations of Cluster API (core, `api/core/v1beta2`, common_types.go). */
export const capiNames = {
  /** Label of all objects of a Cluster: the Cluster's name. */
  clusterName: 'cluster.x-k8s.io/cluster-name',
  /** Label of a Machine of the control plane; without a value. */
  controlPlane: 'cluster.x-k8s.io/control-plane',
  /** Label with the name of the control plane. */
  controlPlaneName: 'cluster.x-k8s.io/control-plane-name',
  /** Annotation that pauses an object, whatever its value. */
  paused: 'cluster.x-k8s.io/paused',
  /** Annotation of a Machine that is not to be replaced, whatever its value. */
  skipRemediation: 'cluster.x-k8s.io/skip-remediation',
  /** Annotations of an object that was cloned from a template. */
  clonedFromName: 'cluster.x-k8s.io/cloned-from-name',
  clonedFromGroupKind: 'cluster.x-k8s.io/cloned-from-groupkind',
  /** Annotation that requests the replacement of a Machine. */
  remediate: 'cluster.x-k8s.io/remediate-machine',
  /**
   * Label of an object that clusterctl moves with its namespace although no Cluster owns it;
   * without a value.
   */
  move: 'clusterctl.cluster.x-k8s.io/move',
  /** Type of the Secrets of Cluster API. */
  secretType: 'cluster.x-k8s.io/secret',
} as const;

/** Labels and annotations of Bootwright. */
export const ownNames = {
  /** Label by which manifest Secrets are selected and checked. */
  installManifests: 'bootwright.io/install-manifests',
  /** Label of the Secret with install-config and state of the installer. */
  installState: 'bootwright.io/install-state',
  /** Annotation of a manifest Secret: `manifests` or `openshift`. */
  manifestFolder: 'bootwright.io/manifest-folder',
  /** Annotation of the one Machine that is the bootstrap host: `bootstrap`. */
  role: 'bootwright.io/role',
  /** Label of the Secrets with tokens of agents, which the inventory follows; without a value. */
  agentToken: 'bootwright.io/agent-token',
  /** Label of the Secrets with logs of failed hosts; without a value. */
  hostLog: 'bootwright.io/host-log',
  /** Finalizer of a control plane: kept until all of its Machines are gone. */
  finalizer: 'bootwright.io/control-plane',
  /**
   * Annotations of the Secret with the installer's files: the hash of their inputs, and the time.
   */
  inputsHash: 'bootwright.io/inputs-hash',
  generatedAt: 'bootwright.io/generated-at',
  /**
   * Annotation of a control plane, with any value: its masters are not compared before they are
   * installed.
   */
  skipHostChecks: 'bootwright.io/skip-host-checks',
  /**
   * Annotation of the same Secret: the hash of the config servers' authority that replaced the
   * installer's.
   */
  configServerCaHash: 'bootwright.io/config-server-ca-hash',
  /** Annotation of a control plane: the lower version to which a person lets the cluster return. */
  allowDowngradeTo: 'bootwright.io/allow-downgrade-to',
  /** Annotation of a control plane, without a value: its bootstrap is complete. */
  bootstrapComplete: 'bootwright.io/bootstrap-complete',
  /** Annotation of a control plane: the master under replacement. */
  remediation: 'bootwright.io/remediation',
  /** Annotation with the same value on the Machine that replaces it. */
  remediationFor: 'bootwright.io/remediation-for',
} as const;

// The API server checks the objects by the definitions in `deploy/capi`, which these types follow.

/** A reference of the v1beta2 contract: to an object in the same namespace. */
export interface ContractRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** A condition (Kubernetes, `metav1.Condition`). */
export interface ApiCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface LocalRef {
  readonly name: string;
}

type TextMap = Readonly<Record<string, string>>;

/**
 * Settings for the installation of a host; both a control plane (`configSpec`) and a config have
 * them.
 */
export interface BootstrapConfigSpec {
  readonly agent: { readonly image: string; readonly args?: readonly string[] };
  readonly installDevice?: string;
  readonly rootDeviceHints?: DiskHints;
  readonly writeMode?: 'Disk' | 'ExistingRoot';
  readonly osImage?: string;
  readonly kernelArguments?: readonly string[];
  readonly ignitionConfigOverride?: string;
  readonly pullSecretRef?: LocalRef;
  readonly sshAuthorizedKeys?: readonly string[];
  readonly proxy?: Readonly<Partial<Record<'httpProxy' | 'httpsProxy' | 'noProxy', string>>>;
  readonly additionalTrustBundle?: string;
  readonly registries?: string;
  readonly networkSecretRef?: LocalRef;
  readonly inventory?: {
    readonly mode?: 'Served' | 'External';
    readonly url?: string;
    readonly tokenSecretRef?: LocalRef;
    readonly clusterId?: string;
    readonly infraEnvId?: string;
  };
  readonly nodeRegistration?: {
    readonly name?: string;
    readonly providerID?: string;
    readonly labels?: TextMap;
  };
}

/** Progress of a host, from its own reports. */
export interface HostProgress {
  readonly stage: string;
  readonly percent?: number;
  readonly message?: string;
  readonly stageStartedAt: string;
  readonly updatedAt: string;
  readonly attempt: number;
}

export interface BootstrapConfigStatus {
  readonly initialization?: { readonly dataSecretCreated?: boolean };
  readonly ready?: boolean;
  readonly dataSecretName?: string;
  readonly role?: 'bootstrap' | 'master' | 'worker';
  readonly hostID?: string;
  readonly progress?: HostProgress;
  readonly logSecretName?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly ApiCondition[];
}

/** Labels and annotations for Machines, configs and infrastructure machines. */
export interface MachineMetadata {
  readonly labels?: TextMap;
  readonly annotations?: TextMap;
}

export interface ControlPlaneSpec {
  readonly replicas?: number;
  readonly distributionVersion: string;
  readonly releaseImage: string;
  readonly machineTemplate: {
    readonly metadata?: MachineMetadata;
    readonly spec: { readonly infrastructureRef: ContractRef };
  };
  readonly installStateSecretRef: LocalRef;
  readonly manifestsSelector?: {
    readonly matchLabels?: TextMap;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
      readonly values?: readonly string[];
    }[];
  };
  readonly bootstrap?: {
    readonly timeouts?: { readonly firstReport?: string; readonly bootstrapComplete?: string };
  };
  readonly remediation?: { readonly maxRetry?: number; readonly retryPeriodSeconds?: number };
  readonly configSpec: BootstrapConfigSpec;
}

/** Status of a control plane, with the fields of both contracts, v1beta1 and v1beta2. */
export interface ControlPlaneStatus {
  readonly initialization?: { readonly controlPlaneInitialized?: boolean };
  readonly initialized?: boolean;
  readonly ready?: boolean;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly upToDateReplicas?: number;
  readonly updatedReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly selector?: string;
  readonly distributionVersion?: string;
  readonly assets?: {
    readonly secretName: string;
    readonly hash: string;
    readonly generatedAt: string;
    readonly expiresAt: string;
  };
  readonly bootstrapMachine?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly ApiCondition[];
}

export interface BootstrapConfig extends KubeObject {
  readonly metadata: OwnedMetadata;
  readonly spec: BootstrapConfigSpec;
  readonly status?: BootstrapConfigStatus;
}

/** A Machine of Cluster API, with the fields that the providers read. */
export interface Machine extends KubeObject {
  readonly metadata: OwnedMetadata;
  readonly spec: {
    readonly clusterName: string;
    readonly bootstrap: { readonly configRef?: ContractRef };
    readonly infrastructureRef: ContractRef;
    readonly providerID?: string;
    readonly failureDomain?: string;
  };
  readonly status?: {
    readonly conditions?: readonly ApiCondition[];
    readonly nodeRef?: { readonly name: string };
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
}

/** A Cluster of Cluster API, with the fields that the providers read. */
export interface CapiCluster extends KubeObject {
  readonly metadata: OwnedMetadata;
  readonly spec?: {
    readonly paused?: boolean;
    readonly controlPlaneEndpoint?: { readonly host?: string; readonly port?: number };
  };
  readonly status?: {
    readonly initialization?: {
      readonly infrastructureProvisioned?: boolean;
      readonly controlPlaneInitialized?: boolean;
    };
    readonly failureDomains?: readonly {
      readonly name: string;
      readonly controlPlane?: boolean;
    }[];
  };
}

export interface OpenShiftControlPlane extends KubeObject {
  readonly metadata: OwnedMetadata;
  readonly spec: ControlPlaneSpec;
  readonly status?: ControlPlaneStatus;
}

/** A reference to the owner of an object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface OwnedMetadata extends KubeMetadata {
  readonly generation?: number;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** Conditions that one provider writes and the other reads. */
export const sharedConditions = {
  /**
   * Condition of a control plane: the config server of a master answers, so that workers get their
   * Ignition.
   */
  configServerAvailable: 'ConfigServerAvailable',
} as const;

/** Keys of the Secret with the files of the installer. */
export const assetKeys = {
  bootstrapIgnition: 'bootstrap.ign.gz',
  masterIgnition: 'master.ign',
  workerIgnition: 'worker.ign',
  kubeconfig: 'kubeconfig',
  kubeadminPassword: 'kubeadmin-password',
  metadata: 'metadata.json',
  /**
   * Pull specs from the release, if known: machine-config-operator, and the container image of
   * CoreOS.
   */
  mcoImage: 'mco-image',
  coreOsImage: 'coreos-image',
  /**
   * PEM by which hosts trust the config server of the running cluster, if it differs from the
   * installer's files.
   */
  configServerCa: 'machine-config-server-ca',
} as const;

/** Name of the Secret with the installer's files of a cluster. */
export const assetsSecretName = (controlPlane: string): string => `${controlPlane}-install-assets`;

/** Name of the Secret with the agent's token of a config. */
export const tokenSecretName = (config: string): string => `${config}-agent`;

/** Name of the Secret with the log of the host of a config, and its one key. */
export const logSecretName = (config: string): string => `${config}-log`;
export const logKey = 'log.gz';

/** Name of the Secret with the kubeconfig of a Cluster (Cluster API contract). */
export const kubeconfigSecretName = (cluster: string): string => `${cluster}-kubeconfig`;
