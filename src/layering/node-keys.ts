const prefix = 'machineconfiguration.openshift.io';

/** Whether a label or an annotation is one of the Machine Config Operator. */
export const isOperatorKey = (key: string): boolean => key.startsWith(`${prefix}/`);

/** Annotations by which nodes and the Machine Config Operator speak of MachineConfigs and images. */
export const nodeKeys = {
  /** Name of the MachineConfig that the node has. */
  currentConfig: `${prefix}/currentConfig`,
  /** Name of the MachineConfig that the node shall have. */
  desiredConfig: `${prefix}/desiredConfig`,
  /** The built image that the node runs, by digest; only a layered node has it. */
  currentImage: `${prefix}/currentImage`,
  /** The built image that the node shall run. */
  desiredImage: `${prefix}/desiredImage`,
  /** `Done`, `Working`, `Degraded` or `Unreconcilable`. */
  state: `${prefix}/state`,
  /** Why the node is degraded. */
  reason: `${prefix}/reason`,
} as const;
