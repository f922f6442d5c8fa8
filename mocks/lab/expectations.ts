import type { LabReport } from './report.ts';
import type { HostExpectation, Scenario } from './scenario.ts';
import { STOCK } from './system-name.ts';

/** What a run is judged by. */
export type Judged = Pick<LabReport, 'outcome' | 'hosts'>;

/** How a run differs from what its scenario expects; empty when it does not. */
export function differencesOf({ expect }: Scenario, { outcome, hosts }: Judged): readonly string[] {
  return [
    ...different('the run', outcome, expect.outcome),
    ...hosts.flatMap((host) => [
      ...hostDifferences(host, expect.hosts[host.name] ?? { outcome: usual(expect.outcome) }),
      ...host.unknownCommands.map((argv) => `${host.name}: the lab does not know: ${argv}`),
    ]),
  ];
}

const usual = (outcome: 'installed' | 'failed'): HostExpectation['outcome'] =>
  outcome === 'installed' ? 'done' : 'stopped';

function hostDifferences(
  host: Judged['hosts'][number],
  expected: HostExpectation,
): readonly string[] {
  const { failure, boots, agentStarts, writes, system, secondAgent } = expected;
  return [
    ...different(host.name, host.outcome, expected.outcome),
    ...different(`${host.name}: failure`, host.failure?.code, failure ?? host.failure?.code),
    ...different(`${host.name}: boots`, host.boots, boots ?? host.boots),
    ...different(`${host.name}: agent starts`, host.agentStarts, agentStarts ?? host.agentStarts),
    ...different(
      `${host.name}: system`,
      systemWord(host.system),
      system ?? systemWord(host.system),
    ),
    ...different(`${host.name}: writes`, host.writes, writes ?? host.writes),
    ...different(
      `${host.name}: second agent`,
      host.secondAgent?.code,
      secondAgent ?? host.secondAgent?.code,
    ),
  ];
}

const systemWord = (system: string | undefined): string | undefined =>
  system === undefined || system === STOCK ? system : 'built';

function different(
  what: string,
  actual: string | number | undefined,
  expected: string | number | undefined,
): readonly string[] {
  if (actual === expected) return [];
  return [`${what}: ${actual ?? 'none'} instead of ${expected ?? 'none'}`];
}
