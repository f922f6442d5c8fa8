/**
 * Where the bootstrap controller writes, and the machine-config-server of the bootstrap host reads
 * for each request.
 */
const directory = '/etc/mcs/bootstrap';

/**
 * Written last of all (machine-config-operator, `pkg/controller/bootstrap`); the server answers 500
 * without it.
 */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** Beside its place, so that one rename moves it back. */
export const blockedControllerConfig = `${controllerConfig}.blocked-by-bootwright`;

/**
 * Where MachineOSConfigs wait until their images are built, and copies of the Secrets that they
 * name.
 */
export const asideFolders = {
  osConfigs: '/opt/openshift/bootwright-layering/os-configs',
  secrets: '/opt/openshift/bootwright-layering/secrets',
} as const;

/** Two units of systemd: one watches a path, the other one runs a command each time. */
const pathUnit = (name: string) => ({ name, path: `${name}.path`, service: `${name}.service` });

/** Moves the file that the machine-config-server needs away, once for each time that it comes. */
export const blockUnit = pathUnit('bootwright-hold');

/** Puts the image back into what was rendered again. */
export const serveUnit = pathUnit('bootwright-serve');

/** Folder of the MachineConfigPools. */
export const poolsFolder = `${directory}/machine-pools`;

/** Folder of the rendered MachineConfigs, and of those that they were rendered from. */
export const renderedFolder = `${directory}/machine-configs`;

/** The MachineConfigPool as the bootstrap controller rendered it. */
export const poolFile = (pool: string): string => `${poolsFolder}/${pool}.yaml`;

/** A rendered MachineConfig. */
export const renderedFile = (name: string): string => `${renderedFolder}/${name}.yaml`;

/**
 * A copy of a rendered MachineConfig as masters are served it. The pod of the bootstrap host
 * renders everything again whenever it is created again, as its init container renders.
 */
export const servedCopy = (name: string): string => `/etc/mcs/bootwright/${name}.yaml`;

/**
 * Whether a file below /var/log/containers is a log of the container that renders MachineConfigs.
 */
export const isRendererLog = (name: string): boolean =>
  /^bootstrap-machine-config-operator-.*_machine-config-controller-[^_]*\.log$/.test(name);

/**
 * klog's fatal line of `machine-config-controller bootstrap` (machine-config-operator, its `cmd`).
 */
const FATAL = /error running MCC\[BOOTSTRAP\]: (?<reason>.*)$/m;

/** Why the MachineConfigs were not rendered, by its log; undefined when the log has no failure. */
export const rendererFailure = (log: string): string | undefined =>
  FATAL.exec(log)?.groups?.['reason']?.trim();
