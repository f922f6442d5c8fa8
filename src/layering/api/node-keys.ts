const prefix = 'machineconfiguration.openshift.io';

/** Whether a label or an annotation is one of the Machine Config Operator. */
export const isOperatorKey = (key: string): boolean => key.startsWith(`${prefix}/`);

/** Annotations of nodes about MachineConfigs and images. */
export const nodeKeys = {
  /** Name of the MachineConfig that the node has. */
  currentConfig: `${prefix}/currentConfig`,
  /** Name of the MachineConfig that the node should have. */
  desiredConfig: `${prefix}/desiredConfig`,
  /** The built image that the node runs, by digest; only a layered node has it. */
  currentImage: `${prefix}/currentImage`,
  /** The built image that the node should run. */
  desiredImage: `${prefix}/desiredImage`,
  /** `Done`, `Working`, `Degraded` or `Unreconcilable`. */
  state: `${prefix}/state`,
  /** Why the node is degraded. */
  reason: `${prefix}/reason`,
  /** `drain-CONFIG` or `uncordon-CONFIG`: what the node asks for. */
  desiredDrain: `${prefix}/desiredDrain`,
  /** The request that was carried out last. */
  lastAppliedDrain: `${prefix}/lastAppliedDrain`,
} as const;
