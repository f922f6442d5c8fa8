import { readOne } from '../../../src/cli/layer/files.ts';
import { readMachineOSConfig } from '../../../src/layering/api/os-config.ts';
import { hasCluster, type Scenario } from '../../../mocks/lab/scenario.ts';

/** What runs in virtual machines. */
type GuestPlan =
  | { readonly kind: 'one master'; readonly scenario: Scenario }
  | { readonly kind: 'cluster'; readonly scenario: Scenario };

/**
 * What of a scenario runs in virtual machines: a cluster without its workers, or one master. Of its
 * hosts only names and roles count, as the machines are real; no operating systems are built.
 * @throws RangeError for a scenario that cannot run so
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
    `${name} cannot run in virtual machines: only clusters with a bootstrap host or one master can, without faults`,
  );
}

const withoutSystems = (expected: Scenario['expect']): Scenario['expect'] => ({
  ...expected,
  hosts: Object.fromEntries(
    Object.entries(expected.hosts).map(([name, host]) => [name, { ...host, system: undefined }]),
  ),
});

// The operating system that a user orders for a virtual machine: a MachineOSConfig in a file.

/** A MachineOSConfig of the masters. */
export interface OsBuildRequest {
  readonly file: string;
  /** Where the user would have the image pushed to. */
  readonly pushSpec: string;
  /** The same, as JSON, whose image goes to another repository. */
  readonly textFor: (repository: string) => string;
}

/** The pool of the machine that is installed. */
const pool = 'master';

/**
 * Refuses a request for a run that builds nothing.
 * @throws RangeError for any run but that of one master
 */
export function refuseBuildFor({ kind }: Pick<GuestPlan, 'kind'>, name: string): void {
  if (kind === 'one master') return;
  throw new RangeError(
    `--os-config cannot be used with ${name}, whose machines run the system of the release: add --scenario one-master`,
  );
}

/**
 * Reads the MachineOSConfig that a file holds.
 * @throws AgentError `config.file-not-read`, `layering.*`; RangeError for another pool than that of
 * masters
 */
export async function readBuildRequest(file: string): Promise<OsBuildRequest> {
  const source = await readOne(file, 'MachineOSConfig');
  const { spec } = readMachineOSConfig(source);
  if (spec.machineConfigPool.name !== pool) {
    const place = source.place(['spec', 'machineConfigPool', 'name']);
    throw new RangeError(
      `${place}: the virtual machine is a master: write ${pool}, not ${spec.machineConfigPool.name}`,
    );
  }
  const { value } = source;
  return {
    file,
    pushSpec: spec.renderedImagePushSpec,
    textFor: (repository) => {
      const ordered = { ...spec, renderedImagePushSpec: `${repository}:latest` };
      return JSON.stringify({ ...value, spec: ordered });
    },
  };
}
