// What a machine-config-daemon says of the system that its node was restarted into (machine-config-operator,
// `pkg/daemon`, as seen on 4.20).

/** What a daemon finds when it starts. */
export interface DaemonFindings {
  /** The image that runs. */
  readonly booted: string;
  /** The image that its file on the disk names; empty without one. */
  readonly recorded: string;
  /** The annotation of the node; empty without one. */
  readonly currentImage: string;
  /** What the MachineConfig of the pool names. */
  readonly named: string;
}

/** How the daemon stands to its node. */
export type DaemonVerdict =
  { readonly state: 'Done' } | { readonly state: 'Degraded'; readonly reason: string };

/** Once a node is past its first start, the file wins over the annotation, and both over the MachineConfig. */
export function daemonVerdict(findings: DaemonFindings): DaemonVerdict {
  const { booted, recorded, currentImage, named } = findings;
  const expected = recorded || currentImage || named;
  if (booted !== expected) {
    return {
      state: 'Degraded',
      reason: `unexpected on-disk state validating against ${expected}: expected target osImageURL "${expected}", have "${booted}"`,
    };
  }
  if (recorded !== currentImage) {
    return {
      state: 'Degraded',
      reason: `the disk records the image "${recorded}", the node says "${currentImage}"`,
    };
  }
  return { state: 'Done' };
}
