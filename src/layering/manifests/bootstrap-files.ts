/**
 * The bootstrap controller writes this folder, and the machine-config-server of the bootstrap host
 * reads it at each request.
 */
const directory = '/etc/mcs/bootstrap';

/**
 * The bootstrap controller writes this file last (machine-config-operator,
 * `pkg/controller/bootstrap`); without it the server answers 500.
 */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** In the same folder, so that one rename restores the file. */
export const blockedControllerConfig = `${controllerConfig}.blocked-by-bootwright`;

/**
 * Folders with MachineOSConfigs that wait for their images, and with copies of the Secrets that
 * they name.
 */
export const asideFolders = {
  osConfigs: '/opt/openshift/bootwright-layering/os-configs',
  secrets: '/opt/openshift/bootwright-layering/secrets',
} as const;

/**
 * Two systemd units: the path unit watches a path, and its service runs a command at each change.
 */
const pathUnit = (name: string) => ({ name, path: `${name}.path`, service: `${name}.service` });

/** Moves the file that the machine-config-server needs aside, each time that it appears. */
export const blockUnit = pathUnit('bootwright-hold');

/** Puts the image into a MachineConfig again after each rendering. */
export const serveUnit = pathUnit('bootwright-serve');

/** Folder of the MachineConfigPools. */
export const poolsFolder = `${directory}/machine-pools`;

/** Folder of the rendered MachineConfigs, and of their sources. */
export const renderedFolder = `${directory}/machine-configs`;

/** The MachineConfigPool as rendered by the bootstrap controller. */
export const poolFile = (pool: string): string => `${poolsFolder}/${pool}.yaml`;

/** A rendered MachineConfig. */
export const renderedFile = (name: string): string => `${renderedFolder}/${name}.yaml`;

/**
 * The copy of a rendered MachineConfig that masters are served. It is outside the rendered folder:
 * the init container of the bootstrap pod renders everything again whenever the pod is created
 * again.
 */
export const servedCopy = (name: string): string => `/etc/mcs/bootwright/${name}.yaml`;

/**
 * Whether a file below /var/log/containers is a log of the container that renders MachineConfigs.
 */
export const isRendererLog = (name: string): boolean =>
  /^bootstrap-machine-config-operator-.*_machine-config-controller-[^_]*\.log$/.test(name);

/**
 * The fatal log line of `machine-config-controller bootstrap` in klog's format
 * (machine-config-operator, its `cmd`).
 */
const FATAL = /error running MCC\[BOOTSTRAP\]: (?<reason>.*)$/m;

/** The reason why rendering failed, from its log; undefined when the log has no failure. */
export const rendererFailure = (log: string): string | undefined =>
  FATAL.exec(log)?.groups?.['reason']?.trim();
