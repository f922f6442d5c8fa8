import { rm } from 'node:fs/promises';
import { idleOf, type IdleStep } from '../../mocks/cluster/idle.ts';
import { runScenario, type LabRun } from '../../mocks/lab/run.ts';
import { readScenario } from '../../mocks/lab/scenario.ts';
import type { LabHost } from '../../mocks/lab/lab-host.ts';
import { bundlePath } from '../bundle.ts';
import { codeCell, pageOf, table } from '../docs/markdown.ts';
import { kubeParts } from '../rig.ts';
import { type Findings, found } from './figure.ts';

const name = 'cluster';

interface HostIdle {
  readonly host: string;
  readonly role: string;
  readonly waitSeconds: number;
  readonly delaySeconds: number;
  readonly boots: number;
  readonly largest: IdleStep | undefined;
}

/** How long the hosts of a cluster continue waiting for what is already true. */
export async function measureIdle(): Promise<Findings> {
  const hosts = await runOnce();
  const all = hosts.reduce((sum, host) => sum + host.waitSeconds + host.delaySeconds, 0);
  const boots = Math.max(...hosts.map((host) => host.boots));
  const booted = 'boots of a host of that cluster until it runs the image that was built, the most';
  return found(
    [
      ['idle time of all hosts of a cluster', 's', all, 3],
      [booted, 'boots', boots, 1],
    ],
    sectionOf(hosts),
  );
}

/** @throws Error when the runScenario did not come out as it must */
async function runOnce(): Promise<readonly HostIdle[]> {
  const shown: { run?: LabRun } = {};
  try {
    const report = await runScenario({
      name,
      scenario: await readScenario(name),
      bundle: bundlePath,
      kube: await kubeParts(),
      signal: new AbortController().signal,
      watch: (stage) => {
        shown.run = stage;
        return () => undefined;
      },
    });
    if (!report.isAsExpected)
      throw new Error(`the runScenario of ${name}: ${report.differences.join()}`);
    const marks = shown.run?.lab.cluster?.marks ?? [];
    return (shown.run?.hosts ?? []).map((host) => idleOfHost(marks, host));
  } finally {
    const folder = shown.run?.folder;
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

function idleOfHost(marks: Parameters<typeof idleOf>[0], host: LabHost): HostIdle {
  const { steps, millis } = idleOf(marks, host.events);
  const [largest] = steps.toSorted((one, other) => other.millis - one.millis);
  return {
    host: host.plan.name,
    role: host.plan.role,
    waitSeconds: millis / 1000,
    delaySeconds: rebootDelaySeconds(host.machine.ran),
    boots: host.boots,
    largest,
  };
}

const shown = (seconds: number): string => `${seconds.toFixed(2)} s`;

const sectionOf = (hosts: readonly HostIdle[]): string =>
  pageOf('performance-idle', {
    hosts: table(
      ['Host', 'Role', 'Idle', 'of it before the reboot', 'Longest step'],
      hosts.map(cellsOf),
    ),
  });

const cellsOf = ({ host, role, waitSeconds, delaySeconds, largest }: HostIdle) => [
  ...[host, role, shown(waitSeconds + delaySeconds), shown(delaySeconds)],
  largest === undefined ? '–' : `${codeCell(largest.step)}, ${shown(largest.millis / 1000)}`,
];

/**
 * How long a reboot waits that was ordered by `shutdown -r`, of all the commands of a host: `now`, or `+N` for so many
 * minutes. The last order counts.
 * @throws RangeError for any other time, or when none was ordered
 */
export function rebootDelaySeconds(ran: readonly { readonly argv: readonly string[] }[]): number {
  const order = ran.findLast(({ argv }) => argv[0] === 'shutdown' && argv[1] === '-r');
  const when = order?.argv[2];
  if (when === 'now') return 0;
  const minutes = /^\+(\d+)$/.exec(when ?? '')?.[1];
  if (minutes === undefined) throw new RangeError(`a reboot at ${when ?? 'no time'}`);
  return Number(minutes) * 60;
}
