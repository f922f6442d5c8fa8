import { rm } from 'node:fs/promises';
import { idleOf } from '../../mocks/cluster/idle.ts';
import { runScenario, type LabRun } from '../../mocks/lab/run.ts';
import { readScenario } from '../../mocks/lab/scenario.ts';
import { bundlePath } from '../bundle.ts';
import { codeCell, pageOf, table } from '../docs/markdown.ts';
import { kubeParts } from '../rig.ts';
import { type Findings, found } from './figure.ts';

const name = 'cluster';

/**
 * How long the hosts of a cluster continue waiting for what is already true.
 * @throws Error when the scenario did not come out as it must
 */
export async function measureIdle(): Promise<Findings> {
  await using ends = new AsyncDisposableStack();
  let run: LabRun | undefined;
  const report = await runScenario({
    name,
    scenario: await readScenario(name),
    bundle: bundlePath,
    kube: await kubeParts(),
    signal: new AbortController().signal,
    watch: (begun) => {
      run = begun;
      ends.defer(() => rm(begun.folder, { recursive: true, force: true }));
      return () => undefined;
    },
  });
  if (!report.isAsExpected || run === undefined)
    throw new Error(`the scenario ${name}: ${report.differences.join()}`);
  const marks = run.lab.cluster?.marks ?? [];
  const hosts = run.hosts.map(({ plan, events, machine, boots }) => {
    const { steps, millis } = idleOf(marks, events);
    const delay = rebootDelaySeconds(machine.ran);
    return { ...{ plan, boots, steps, delay }, seconds: millis / 1000 + delay };
  });
  const all = hosts.reduce((sum, { seconds }) => sum + seconds, 0);
  const boots = Math.max(...hosts.map((host) => host.boots));
  const booted = 'boots of a host of that cluster until it runs the image that was built, the most';
  const rows = hosts.map(({ plan, steps, delay, seconds }) => {
    const [largest] = steps.toSorted((one, other) => other.millis - one.millis);
    const longest =
      largest === undefined ? '–' : `${codeCell(largest.step)}, ${shown(largest.millis / 1000)}`;
    return [plan.name, plan.role, shown(seconds), shown(delay), longest];
  });
  const heads = ['Host', 'Role', 'Idle', 'of it before the reboot', 'Longest step'];
  return found(
    [
      ['idle time of all hosts of a cluster', 's', all, 3],
      [booted, 'boots', boots, 1],
    ],
    pageOf('performance-idle', { hosts: table(heads, rows) }),
  );
}

const shown = (seconds: number): string => `${seconds.toFixed(2)} s`;

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
