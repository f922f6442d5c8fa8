import { parseArgs } from 'node:util';
import { DEFAULT_SCENARIO } from './scenario.ts';

/** Options of the lab. */
export type LabOptions = ReturnType<typeof readOptions>;

/** Usage of the lab. */
export const usage = `usage: scripts/lab [--scenario NAME] [--page] [--page-file FILE.html] [--report FILE.json]
                   [--agent FILE] [--keep]
       scripts/lab --vm [--os-config FILE] [--firmware bios|uefi] [--page] [--page-file FILE.html]
                   [--report FILE.json] [--keep]
       scripts/lab --vm --no-service [--page] [--page-file FILE.html] [--keep]
       scripts/lab --capi [--page] [--page-file FILE.html] [--report FILE.json] [--agent FILE]
                   [--keep]
       scripts/lab --list

Runs an installation on this machine: the inventory service, an object store and the hosts are
stand-ins, the agents are the real program. Nothing of this machine is touched.

  --scenario NAME  the scenario to run, by default ${DEFAULT_SCENARIO}
  --page           serve a page to follow the run in a browser; on a terminal it stays after the
                   run until Ctrl-C
  --page-file FILE write the page with the time line of the run at its end, as one HTML file
  --report FILE    write a report as JSON
  --agent FILE     run this bundle of the agent; by default it is built from the sources
  --keep           keep the files and logs of the hosts, and print where they are
  --list           list the scenarios: what each shows, how it ends, how long it takes
  --vm             install a virtual machine instead of simulated hosts: the master of the
                   scenario one-master; needs root on Debian
  --os-config FILE build an image from this MachineOSConfig of pool master while the virtual
                   machine is installed; it boots straight into that image
  --firmware NAME  firmware of the virtual machine, uefi (default) or bios
  --no-service     install a virtual machine that starts from the network, with the files of
                   deploy/host and deploy/pxe, in about four minutes
  --capi           install three masters and two workers through Cluster API: a management
                   cluster with both providers, simulated hosts, and the page of the Cluster

Exits with 0 when the outcome is what the scenario expects, with 1 when it is not, and with 2
when the lab could not run.
`;

/**
 * Reads the command line of the lab.
 * @throws TypeError for unknown or conflicting words
 */
export function readOptions(args: readonly string[]) {
  const { values } = parseArgs({ args: [...args], options: optionTable });
  const osConfig = values['os-config'];
  if (osConfig !== undefined && !values.vm) {
    throw new TypeError('--os-config builds the image of a virtual machine: add --vm');
  }
  const isWithoutService = values['no-service'];
  if (isWithoutService) refuseBesides(values);
  const isByCapi = values.capi;
  if (isByCapi && (values.vm || values.scenario !== undefined))
    throw new TypeError('--capi installs simulated hosts of its own: leave --vm and --scenario');
  const scenario = values.scenario ?? (values.vm ? VM_SCENARIO : DEFAULT_SCENARIO);
  if (values.vm && scenario !== VM_SCENARIO)
    throw new TypeError(`--vm installs one machine: leave --scenario, or give ${VM_SCENARIO}`);
  return {
    scenario,
    report: values.report,
    agent: values.agent,
    isList: values.list,
    isHelp: values.help,
    /** The firmware of a virtual machine, which replaces the simulated hosts. */
    vm: values.vm ? firmwareNamed(values.firmware) : undefined,
    osConfig,
    isPage: values.page,
    pageFile: values['page-file'],
    isWithoutService,
    isByCapi,
    keeps: values.keep,
  };
}

/** The scenario that a virtual machine can run. */
const VM_SCENARIO = 'one-master';

const optionTable = {
  scenario: { type: 'string' },
  report: { type: 'string' },
  page: { type: 'boolean', default: false },
  'page-file': { type: 'string' },
  agent: { type: 'string' },
  list: { type: 'boolean', default: false },
  vm: { type: 'boolean', default: false },
  firmware: { type: 'string', default: 'uefi' },
  'os-config': { type: 'string' },
  'no-service': { type: 'boolean', default: false },
  capi: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function firmwareNamed(name: string): 'bios' | 'uefi' {
  if (name === 'bios' || name === 'uefi') return name;
  throw new TypeError(`--firmware must be bios or uefi, not ${name}`);
}

/** Refuses a scenario for a machine without a service. */
function refuseBesides({
  vm,
  ...values
}: Readonly<Record<string, string | boolean | undefined>>): void {
  if (vm !== true) throw new TypeError('--no-service installs a virtual machine: add --vm');
  const [other] = ['scenario', 'report', 'agent', 'os-config'].filter(
    (name) => values[name] !== undefined,
  );
  if (other !== undefined) throw new TypeError(`--${other} cannot be used with --no-service`);
}
