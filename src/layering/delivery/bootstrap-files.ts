/** Where the bootstrap controller writes, and the machine-config-server of the bootstrap host reads for each request. */
const directory = '/etc/mcs/bootstrap';

/** Written last of all (machine-config-operator, `pkg/controller/bootstrap`); the server answers 500 without it. */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** Beside its place, so that to move it back is one act. */
export const heldControllerConfig = `${controllerConfig}.held-by-bootwright`;

/** Folder of the MachineConfigPools. */
export const poolsFolder = `${directory}/machine-pools`;

/** Folder of the rendered MachineConfigs, and of those that they were rendered from. */
export const renderedFolder = `${directory}/machine-configs`;

/** The MachineConfigPool as the bootstrap controller rendered it. */
export const poolFile = (pool: string): string => `${poolsFolder}/${pool}.yaml`;

/** A rendered MachineConfig. */
export const renderedFile = (name: string): string => `${renderedFolder}/${name}.yaml`;

/**
 * Where a rendered MachineConfig stays as masters are served it. The pod of the bootstrap host renders everything
 * again whenever it is made anew, its init container being the one that renders.
 */
export const servedCopy = (name: string): string => `/etc/mcs/bootwright/${name}.yaml`;
