import { z } from 'zod';

const seconds = (byDefault: number) => z.number().min(0).default(byDefault);

/** Durations of all waits in a cluster, in seconds of the lab. */
export const Pace = z.strictObject({
  /** From the reboot until the installed system requests its Ignition. */
  bootSeconds: seconds(1.5),
  /** From then on until the kubelet requests its certificate, or its node appears. */
  configureSeconds: seconds(1.5),
  /** From the node's appearance until its machine-config-daemon annotates it. */
  daemonSeconds: seconds(0.5),
  /** From the node's appearance until it is Ready. */
  joinSeconds: seconds(1),
  /** From the start of bootkube until the temporary API server answers. */
  apiSeconds: seconds(1),
  /** From then on until the temporary machine-config-server answers. */
  machineConfigServerSeconds: seconds(0.5),
  /** From the first Ready node until the Machine Config Operator has rendered in the cluster. */
  renderSeconds: seconds(0.5),
  /** From the last required node until bootkube is done. */
  bootkubeSeconds: seconds(1),
  /** From then on until the bootstrap is declared complete. */
  etcdSeconds: seconds(1),
  /** From then on until etcd has left the bootstrap host. */
  handoverSeconds: seconds(0.7),
  /**
   * From a new desired MachineConfig on a master until it is applied, and the next master gets it.
   */
  reconfigureSeconds: seconds(2.5),
  /** From bootkube's end until the controller runs. */
  controllerSeconds: seconds(1.5),
  /**
   * Between two steps of the operators of the cluster; the first comes after the bootstrap is
   * complete.
   */
  operatorSeconds: seconds(0.3),
});
export type Pace = z.infer<typeof Pace>;

/** A reported stage of a node, and the pause before it. */
interface TimedStage {
  readonly stage: string;
  readonly afterSeconds: number;
}

/** Kind of a node, which decides its stages after the reboot. */
export type NodeKind = 'control-plane' | 'worker' | 'single-node';

/** The stages of a node after its reboot, as the controller reports them (controller of 2026). */
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
