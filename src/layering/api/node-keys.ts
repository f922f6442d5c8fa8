const prefix = 'machineconfiguration.openshift.io';

/** Whether the key of a label or an annotation belongs to the Machine Config Operator. */
export const isOperatorKey = (key: string): boolean => key.startsWith(`${prefix}/`);

/** Annotations of nodes about MachineConfigs and images. */
export const nodeKeys = {
  /** Name of the MachineConfig that the node runs. */
  currentConfig: `${prefix}/currentConfig`,
  /** Name of the MachineConfig that the node should have. */
  desiredConfig: `${prefix}/desiredConfig`,
  /** The built image that the node runs, by digest; only a layered node has it. */
  currentImage: `${prefix}/currentImage`,
  /** The built image that the node should run. */
  desiredImage: `${prefix}/desiredImage`,
  /** `Done`, `Working`, `Degraded` or `Unreconcilable`. */
  state: `${prefix}/state`,
  /** Reason why the node is degraded. */
  reason: `${prefix}/reason`,
  /** `drain-CONFIG` or `uncordon-CONFIG`: the drain that the node requests. */
  desiredDrain: `${prefix}/desiredDrain`,
  /** The drain request that was completed last. */
  lastAppliedDrain: `${prefix}/lastAppliedDrain`,
} as const;
