// The operating system that a user orders for a virtual machine: a MachineOSConfig in a file.
import { readOne } from '../../../src/cli/layer/files.ts';
import { readMachineOSConfig } from '../../../src/layering/api/os-config.ts';
import type { GuestPlan } from './plan.ts';

/** A MachineOSConfig of the masters. */
export interface OsOrder {
  readonly file: string;
  /** Where the user would have the image pushed to. */
  readonly pushSpec: string;
  /** The same, as JSON, whose image goes to another repository. */
  readonly textFor: (repository: string) => string;
}

/** The pool of the machine that is installed. */
const pool = 'master';

/**
 * Refuses an order for a play that builds nothing.
 * @throws RangeError for any play but that of one master
 */
export function refuseOrderFor({ kind }: Pick<GuestPlan, 'kind'>, name: string): void {
  if (kind === 'one master') return;
  throw new RangeError(
    `--os-config cannot be played with ${name}, whose machines run the system of the release: add --scenario one-master`,
  );
}

/**
 * Reads the MachineOSConfig that a file holds.
 * @throws AgentError `config.file-not-read`, `layering.*`; RangeError for another pool than that of masters
 */
export async function readOsOrder(file: string): Promise<OsOrder> {
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
