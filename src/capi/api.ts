import type { KubeKind, KubeMetadata, KubeObject } from '../ports/kube.ts';
import type {
  conditionSchema,
  configSchema,
  configStatusSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
  referenceSchema,
  metadataSchema,
  progressSchema,
  Described,
} from './fields.ts';

/** Kinds of the two providers and of Cluster API core, as the API server addresses them. */
const bootstrapGroup = 'bootstrap.cluster.x-k8s.io';
const controlPlaneGroup = 'controlplane.cluster.x-k8s.io';
const coreGroup = 'cluster.x-k8s.io';

const ours = (group: string, plural: string): KubeKind => ({ group, version: 'v1alpha1', plural });
const core = (plural: string): KubeKind => ({ group: coreGroup, version: 'v1beta2', plural });

export const controlPlanes = ours(controlPlaneGroup, 'openshiftcontrolplanes');
export const bootstrapConfigs = ours(bootstrapGroup, 'openshiftbootstrapconfigs');
export const bootstrapConfigTemplates = ours(bootstrapGroup, 'openshiftbootstrapconfigtemplates');
export const clusters = core('clusters');
export const capiMachines = core('machines');
export const machineHealthChecks = core('machinehealthchecks');

/** `apiVersion` and `kind` of objects that we make. */
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
  /** Label of all that belongs to a Cluster: its name. */
  clusterName: 'cluster.x-k8s.io/cluster-name',
  /** Label of a Machine of the control plane; without a value. */
  controlPlane: 'cluster.x-k8s.io/control-plane',
  /** Label with the name of the control plane. */
  controlPlaneName: 'cluster.x-k8s.io/control-plane-name',
  /** Annotation that pauses an object, whatever its value. */
  paused: 'cluster.x-k8s.io/paused',
  /** Annotations of what was made from a template. */
  clonedFromName: 'cluster.x-k8s.io/cloned-from-name',
  clonedFromGroupKind: 'cluster.x-k8s.io/cloned-from-groupkind',
  /** Annotation that asks for a Machine to be replaced. */
  remediate: 'cluster.x-k8s.io/remediate-machine',
  /**
   * Label of an object that clusterctl moves with its namespace although no Cluster owns it;
   * without a value.
   */
  move: 'clusterctl.cluster.x-k8s.io/move',
  /** Type of Secrets that Cluster API knows. */
  secretType: 'cluster.x-k8s.io/secret',
} as const;

/** The providers as clusterctl knows them: the value of the label `cluster.x-k8s.io/provider`. */
export const providerNames = {
  bootstrap: 'bootstrap-bootwright',
  controlPlane: 'control-plane-bootwright',
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
  /** Label of the Secrets with logs of hosts that failed; without a value. */
  hostLog: 'bootwright.io/host-log',
  /** Finalizer of a control plane: kept until none of its Machines is there. */
  finalizer: 'bootwright.io/control-plane',
  /** Annotations of the Secret with the installer's files: what they were made of, and when. */
  inputsHash: 'bootwright.io/inputs-hash',
  generatedAt: 'bootwright.io/generated-at',
  /** The same, without a value, where they are for a single node. */
  singleNode: 'bootwright.io/single-node',
  /**
   * Annotation of a control plane, whatever its value: its masters are not compared before they are
   * installed.
   */
  skipHostChecks: 'bootwright.io/skip-host-checks',
  /** The same: the hash of the authority of config servers that replaced the installer's. */
  configServerCaHash: 'bootwright.io/config-server-ca-hash',
  /** Annotation of a control plane: the lower version that a person lets the cluster go back to. */
  allowDowngradeTo: 'bootwright.io/allow-downgrade-to',
  /**
   * Annotation of a control plane: the image of the machine-config operator, where no Job asks the
   * payload.
   */
  mcoImage: 'bootwright.io/mco-image',
  /** Annotation of a control plane, without a value: its bootstrap is complete. */
  bootstrapComplete: 'bootwright.io/bootstrap-complete',
  /**
   * Annotation of a Secret with a kubeconfig that version 1.1 and older made: when it was to be
   * renewed.
   */
  renewAt: 'bootwright.io/renew-at',
  /** Annotation of a control plane: the master that is being replaced. */
  remediation: 'bootwright.io/remediation',
  /** The same of the Machine that follows it. */
  remediationFor: 'bootwright.io/remediation-for',
} as const;

/** A reference as the v1beta2 contract has it: within the own namespace. */
export type ContractRef = Described<typeof referenceSchema>;
/** A condition (Kubernetes, `metav1.Condition`). */
export type ApiCondition = Described<typeof conditionSchema>;
/**
 * How a host is installed; the same in a control plane (`configSpec`) and in a config of its own.
 */
export type BootstrapConfigSpec = Described<ReturnType<typeof configSchema>>;
/** How far a host is, by its own reports. */
export type HostProgress = Described<typeof progressSchema>;
export type BootstrapConfigStatus = Described<typeof configStatusSchema>;
export type ControlPlaneSpec = Described<typeof controlPlaneSpecSchema>;
export type ControlPlaneStatus = Described<typeof controlPlaneStatusSchema>;
/** Labels and annotations that Machines, configs and infrastructure machines get. */
export type MachineMetadata = Described<typeof metadataSchema>;

export interface BootstrapConfig extends KubeObject {
  readonly metadata: OwnedMetadata;
  readonly spec: BootstrapConfigSpec;
  readonly status?: BootstrapConfigStatus;
}

/** A Machine of Cluster API, as much of it as the providers read. */
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

/** A Cluster of Cluster API, as much of it as the providers read. */
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

/** An object that another one owns. */
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
   * Of a control plane: a config server of a master answers, so that workers get their Ignition.
   */
  configServerAvailable: 'ConfigServerAvailable',
} as const;

/** Keys of the Secret with the files of the installer. */
export const assetKeys = {
  bootstrapIgnition: 'bootstrap.ign.gz',
  masterIgnition: 'master.ign',
  workerIgnition: 'worker.ign',
  kubeconfig: 'kubeconfig',
  kubeconfigNoIngress: 'kubeconfig-noingress',
  kubeadminPassword: 'kubeadmin-password',
  metadata: 'metadata.json',
  /**
   * Images of the release, where they are known: machine-config-operator, and CoreOS as a
   * container.
   */
  mcoImage: 'mco-image',
  coreOsImage: 'coreos-image',
  /**
   * PEM by which hosts trust the config server of the running cluster, where it is not that of the
   * files any more.
   */
  configServerCa: 'machine-config-server-ca',
} as const;

/** Name of the Secret that the installer's files of a cluster are kept in. */
export const assetsSecretName = (controlPlane: string): string => `${controlPlane}-install-assets`;

/** Name of the Secret with the token by which the agent of a config is known. */
export const tokenSecretName = (config: string): string => `${config}-agent`;

/** Name of the Secret with the log of the host of a config, and its one key. */
export const logSecretName = (config: string): string => `${config}-log`;
export const logKey = 'log.gz';

/** Name of the Secret with the kubeconfig of a Cluster (Cluster API contract). */
export const kubeconfigSecretName = (cluster: string): string => `${cluster}-kubeconfig`;
