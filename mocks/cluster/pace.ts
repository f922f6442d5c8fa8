import { z } from 'zod';

const seconds = (byDefault: number) => z.number().min(0).default(byDefault);

/** How long everything in a cluster takes that only takes time, in seconds of the lab. */
export const Pace = z.strictObject({
  /** From the reboot until the installed system asks for its Ignition. */
  bootSeconds: seconds(1.5),
  /** From then on until the kubelet asks for its certificate, or its node appears. */
  configureSeconds: seconds(1.5),
  /** From the node's appearance until its machine-config-daemon says what it was served. */
  daemonSeconds: seconds(0.5),
  /** From the node's appearance until it is Ready. */
  joinSeconds: seconds(1),
  /** From the start of bootkube until the temporary API server answers. */
  apiSeconds: seconds(1),
  /** From then on until the temporary machine-config-server does. */
  machineConfigServerSeconds: seconds(0.5),
  /**
   * From the first node that is Ready until the Machine Config Operator has rendered in the
   * cluster.
   */
  renderSeconds: seconds(0.5),
  /** From the last node that is needed until bootkube is done. */
  bootkubeSeconds: seconds(1),
  /** From then on until the bootstrap is declared complete. */
  etcdSeconds: seconds(1),
  /** From then on until etcd has left the bootstrap host. */
  handoverSeconds: seconds(0.7),
  /** From a master that is told another MachineConfig until it has it, and the next is told. */
  reconfigureSeconds: seconds(2.5),
  /** From bootkube's end until the controller runs. */
  controllerSeconds: seconds(1.5),
  /**
   * From one step of the operators of the cluster to the next; the first comes after the bootstrap
   * is complete.
   */
  operatorSeconds: seconds(0.3),
});
export type Pace = z.infer<typeof Pace>;

/** A stage that is reported for a node, and the pause before it. */
interface TimedStage {
  readonly stage: string;
  readonly afterSeconds: number;
}

/** What a node does after its reboot. */
export type NodeKind = 'control-plane' | 'worker' | 'single-node';

/** What happens to a node after its reboot, as the controller reports it (controller of 2026). */
export function stagesAfterReboot(kind: NodeKind, pace: Pace): readonly TimedStage[] {
  const { bootSeconds, configureSeconds, joinSeconds } = pace;
  const done = { stage: 'Done', afterSeconds: joinSeconds };
  switch (kind) {
    case 'single-node':
      return [{ stage: 'Joined', afterSeconds: bootSeconds + configureSeconds }, done];
    case 'worker':
      return [
        { stage: 'Waiting for ignition', afterSeconds: bootSeconds },
        { stage: 'Configuring', afterSeconds: configureSeconds / 2 },
        { stage: 'Joined', afterSeconds: configureSeconds },
        done,
      ];
    case 'control-plane':
      return [
        { stage: 'Configuring', afterSeconds: bootSeconds },
        { stage: 'Joined', afterSeconds: configureSeconds },
        done,
      ];
  }
}
