import * as z from 'zod';
import {
  agentBased,
  installConfigRef,
  invokerOf,
  invokerRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { fact } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { hours, seconds } from '../../model/duration.ts';
import { controllerStep } from './world.ts';

const NewClusterSchema = z.strictObject({
  /** The agent-based installer installs it: there is no service that outlives the bootstrap host. */
  isAgentBased: z.boolean(),
  /** As the install-config names it: `baremetal`, `none`; empty where it says nothing. */
  platform: z.string(),
  /** The networks of its services, as they are written. */
  serviceNetworks: z.array(z.string()),
  /** Name of the first vCenter, where there is one. */
  vcenterServer: z.string().optional(),
});

/** What the installer wrote into the cluster about itself. */
export const NewCluster = fact('controller.new-cluster', NewClusterSchema);
export type NewCluster = z.infer<typeof NewClusterSchema>;

/**
 * Reads who installs the cluster, and on what. Without an install-config that can be read the controller goes on, as
 * the one that it replaces does.
 */
export const readNewCluster = controllerStep({
  id: 'controller/read-new-cluster',
  title: 'Read who installs the cluster, and on which platform',
  uses: ['kube', 'clock'],
  gives: NewCluster,
  limit: hours(1),
  waitsFor: 'the API server to answer, at most an hour',
  run: async ({ kube, signal, until, note }) =>
    until(
      'the cluster says who installs it',
      async () => {
        try {
          const invoker = invokerOf(await kube.get(invokerRef, signal));
          const reading = readInstallConfig(await kube.get(installConfigRef, signal));
          if ('problem' in reading) note('warn', reading.problem);
          const found = 'problem' in reading ? undefined : reading.installConfig;
          const isAgentBased = invoker === agentBased;
          note('info', `installed by ${invoker}`, { platform: found?.platform ?? 'unknown' });
          return {
            done: {
              isAgentBased,
              platform: found?.platform ?? '',
              serviceNetworks: [...(found?.serviceNetworks ?? [])],
              ...(found?.vcenterServer === undefined ? {} : { vcenterServer: found.vcenterServer }),
            },
          };
        } catch (error) {
          signal.throwIfAborted();
          return { status: `the API server does not answer (${asAgentError(error).code})` };
        }
      },
      { every: seconds(1), within: hours(1) },
    ),
});
