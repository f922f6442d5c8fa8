import { hasCluster, type Scenario } from '../scenario.ts';

/** What is played in virtual machines. */
export type GuestPlan =
  | { readonly kind: 'one master'; readonly scenario: Scenario }
  | { readonly kind: 'cluster'; readonly scenario: Scenario };

/**
 * What of a scenario is played in virtual machines: a cluster without its workers, or one master.
 * Of its hosts only names and roles count, as the machines are real; no operating systems are built.
 * @throws RangeError for a scenario that has no such play
 */
export function guestPlan(name: string, scenario: Scenario): GuestPlan {
  const { hosts, faults } = scenario;
  const hasFaults =
    Object.values(faults).some((some) => some.length > 0) ||
    scenario.layering?.diesForSeconds !== undefined;
  const isPlanned = scenario.expect.outcome === 'installed' && !hasFaults;
  if (isPlanned && hasCluster(scenario)) {
    const members = hosts.filter(({ role }) => role !== 'worker');
    const expect = withoutSystems(scenario.expect);
    return {
      kind: 'cluster',
      scenario: { ...scenario, layering: undefined, hosts: members, expect },
    };
  }
  if (isPlanned && hosts.length === 1 && hosts[0]?.role === 'master') {
    return { kind: 'one master', scenario };
  }
  throw new RangeError(
    `${name} cannot be played in virtual machines: they play clusters with a bootstrap host, or one master, and no faults`,
  );
}

const withoutSystems = (expected: Scenario['expect']): Scenario['expect'] => ({
  ...expected,
  hosts: Object.fromEntries(
    Object.entries(expected.hosts).map(([name, host]) => [name, { ...host, system: undefined }]),
  ),
});
