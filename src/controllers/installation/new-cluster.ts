import * as z from 'zod';
import {
  agentBased,
  type InstallConfig,
  installConfigRef,
  invokerOf,
  invokerRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { fact } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { apiErrorText } from '../../ports/kube-failures.ts';
import { removeLeftBinding } from './must-gather.ts';
import { controllerStep } from './step.ts';

const NewClusterSchema = z.strictObject({
  /**
   * The agent-based installer installs it: there is no service that outlives the bootstrap host.
   */
  isAgentBased: z.boolean(),
  /** As the install-config names it: `baremetal`, `none`; empty where it says nothing. */
  platform: z.string(),
  /**
   * Where its machines are, where the install-config says so, and addresses there that move between
   * them.
   */
  machines: z.strictObject({ networks: z.array(z.string()), vips: z.array(z.string()) }).optional(),
  /** Name of the first vCenter, where there is one. */
  vcenterServer: z.string().optional(),
  /** How many control-plane nodes it is to have, where the install-config says so. */
  controlPlaneReplicas: z.number().optional(),
});

/** What the installer wrote into the cluster about itself. */
export const NewCluster = fact('controller.new-cluster', NewClusterSchema);
export type NewCluster = z.infer<typeof NewClusterSchema>;

/** The job may start a moment before the other manifests of the installer are applied. */
const manifestsWait: Millis = minutes(2);

/**
 * Reads who installs the cluster, and on what. Without an install-config that can be read the
 * controller continues, as the one that it replaces does.
 */
export const readNewCluster = controllerStep({
  id: 'controller/read-new-cluster',
  title: 'Read who installs the cluster, and on which platform',
  uses: ['kube', 'clock'],
  gives: NewCluster,
  limit: hours(1),
  run: async (scope) => {
    const { kube, clock, signal, until, note } = scope;
    const began = clock.elapsed();
    const found = await until(
      'the cluster says who installs it',
      async () => {
        try {
          const said = await kube.get(invokerRef, signal);
          const reading = readInstallConfig(await kube.get(installConfigRef, signal));
          const isWhole = said !== undefined && !('problem' in reading);
          if (!isWhole && clock.elapsed() - began < manifestsWait) {
            return { status: 'the manifests of the installer are not in the cluster yet' };
          }
          if ('problem' in reading) note('warn', reading.problem);
          const invoker = invokerOf(said);
          const cluster = clusterBy(invoker, 'problem' in reading ? {} : reading.installConfig);
          note('info', `installed by ${invoker}`, { platform: cluster.platform || 'unknown' });
          return { done: cluster };
        } catch (error) {
          signal.throwIfAborted();
          return { status: apiErrorText(asAgentError(error)) };
        }
      },
      { every: seconds(1), within: hours(1) },
    );
    await removeLeftBinding(scope);
    return found;
  },
});

const clusterBy = (
  invoker: string,
  { platform = '', machines, vcenterServer, controlPlaneReplicas = 0 }: Partial<InstallConfig>,
): NewCluster => ({
  isAgentBased: invoker === agentBased,
  platform,
  ...(machines && { machines: { networks: [...machines.networks], vips: [...machines.vips] } }),
  ...(vcenterServer === undefined ? {} : { vcenterServer }),
  ...(controlPlaneReplicas === 0 ? {} : { controlPlaneReplicas }),
});
