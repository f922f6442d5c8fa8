import {
  agentBased,
  type InstallConfig,
  installConfigRef,
  invokerOf,
  invokerRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { asAgentError } from '../../engine/failures.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { apiErrorText } from '../../ports/kube-failures.ts';
import { removeLeftBinding } from './must-gather.ts';
import type { StepScope } from './scope.ts';

/** The installer's own record in the cluster. */
export interface NewCluster extends InstallConfig {
  /** The agent-based installer installs the cluster: no service outlives the bootstrap host. */
  readonly isAgentBased: boolean;
}

const nothingSaid: InstallConfig = { controlPlaneReplicas: 0, arbiterReplicas: 0 };

/** The job may start a moment before the other manifests of the installer are applied. */
const manifestsWait: Millis = minutes(2);

/**
 * Reads invoker and platform of the installation. Without a readable install-config the controller
 * continues, like assisted-installer-controller.
 */
export async function readNewCluster(scope: StepScope): Promise<NewCluster> {
  const { kube, clock, signal, until, note } = scope;
  const began = clock.elapsed();
  const cluster = await until(
    'the cluster says who installs it',
    async () => {
      try {
        const invokerMap = await kube.get(invokerRef, signal);
        const reading = readInstallConfig(await kube.get(installConfigRef, signal));
        const isWhole = invokerMap !== undefined && !('problem' in reading);
        if (!isWhole && clock.elapsed() - began < manifestsWait)
          return { status: 'the manifests of the installer are not in the cluster yet' };
        if ('problem' in reading) note('warn', reading.problem);
        const invoker = invokerOf(invokerMap);
        const found = 'problem' in reading ? nothingSaid : reading.installConfig;
        note('info', `installed by ${invoker}`, { platform: found.platform ?? 'unknown' });
        return { done: { ...found, isAgentBased: invoker === agentBased } };
      } catch (error) {
        signal.throwIfAborted();
        return { status: apiErrorText(asAgentError(error)) };
      }
    },
    { every: seconds(1), within: hours(1) },
  );
  await removeLeftBinding(scope);
  return cluster;
}
