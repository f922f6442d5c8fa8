/** Where the bootstrap controller writes, and the machine-config-server of the bootstrap host reads for each request. */
const directory = '/etc/mcs/bootstrap';

/** Written last of all (machine-config-operator, `pkg/controller/bootstrap`); the server answers 500 without it. */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** Beside its place, so that to move it back is one act. */
export const heldControllerConfig = `${controllerConfig}.held-by-bootwright`;

/** The MachineConfigPool as the bootstrap controller rendered it. */
export const poolFile = (pool: string): string => `${directory}/machine-pools/${pool}.yaml`;

/** A rendered MachineConfig. */
export const renderedFile = (name: string): string => `${directory}/machine-configs/${name}.yaml`;
