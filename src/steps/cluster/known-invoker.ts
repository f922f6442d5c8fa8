import { invokerOf, invokerRef } from '../../cluster/invoker.ts';
import type { Kube } from '../../ports/kube.ts';

/**
 * Who started the installation, asked of the cluster.
 * @throws AgentError `kube.*` when it cannot be read, which is no answer
 */
export const readInvoker = async (kube: Kube, signal: AbortSignal): Promise<string> =>
  invokerOf(await kube.get(invokerRef, signal));
