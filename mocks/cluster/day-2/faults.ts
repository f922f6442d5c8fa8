import { z } from 'zod';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { textIn } from '../../layering/objects.ts';
import type { RegistryNetwork } from '../../registries/network.ts';
import type { SeenNode } from './record.ts';

/**
 * Faults during the roll-out to a host: `controller-killed` while the host is drained;
 * `agent-killed` between the staging of its image and its reboot; `power-loss` during shutdown,
 * before the staged image was written; `registry-dies` at its first pull.
 */
export const DayFault = z.strictObject({
  kind: z.enum(['controller-killed', 'agent-killed', 'power-loss', 'registry-dies']),
  host: z.string(),
  /** Seconds without the registry. */
  seconds: z.number().positive().default(3),
});
export type DayFault = z.infer<typeof DayFault>;

/** The state of a node in which a fault kills a program, and the pods of that program. */
interface Killing {
  readonly isDue: (node: SeenNode) => boolean;
  readonly isMeant: (pod: KubeObject, node: SeenNode) => boolean;
}

const isDraining = ({ request }: SeenNode): boolean => request.startsWith('drain-');
const isOf = (pod: KubeObject, prefix: string): boolean => pod.metadata.name.startsWith(prefix);

/** The programs that faults of each kind kill; other kinds kill none. */
export const killings: Partial<Record<DayFault['kind'], Killing>> = {
  'controller-killed': {
    isDue: (node) => isDraining(node) && node.isCordoned,
    isMeant: (pod) => isOf(pod, 'bootwright-node-controller-'),
  },
  // A node requests a drain only after its image is staged.
  'agent-killed': {
    isDue: isDraining,
    isMeant: (pod, { name }) =>
      isOf(pod, 'bootwright-node-agent-') && textIn(pod, 'spec', 'nodeName') === name,
  },
};

/** Targets of the faults. */
interface Targets {
  /** Kills the program of a matching pod; false without one. */
  readonly kill: (isMeant: (pod: KubeObject) => boolean) => boolean;
  readonly network: Pick<RegistryNetwork, 'dieAtPull'>;
}

/** Arms the faults of a day; each strikes once. */
export function armFaults(faults: readonly DayFault[], { kill, network }: Targets) {
  const left = [...faults];
  const struck: DayFault[] = [];
  const isHit = (fault: DayFault): boolean =>
    struck.push(...left.splice(left.indexOf(fault), 1)) > 0;
  for (const fault of faults.filter(({ kind }) => kind === 'registry-dies')) {
    network.dieAtPull(fault.host, fault.seconds, () => void isHit(fault));
  }
  return {
    left: left as readonly DayFault[],
    struck: struck as readonly DayFault[],
    /** Whether a host loses its power during shutdown. */
    losesPower: (host: string): boolean =>
      left.some((fault) => fault.kind === 'power-loss' && fault.host === host && isHit(fault)),
    /** Kills the programs whose fault is due at the state of a node. */
    strike: (node: SeenNode): void => {
      for (const fault of left.filter(({ host }) => host === node.name)) {
        const { isDue, isMeant } = killings[fault.kind] ?? {};
        if (isDue?.(node) === true && kill((pod) => isMeant?.(pod, node) === true)) isHit(fault);
      }
    },
  };
}
