/** Whether a file below /var/log/containers is a log of the container that renders MachineConfigs. */
export const isRendererLog = (name: string): boolean =>
  /^bootstrap-machine-config-operator-.*_machine-config-controller-[^_]*\.log$/.test(name);

/** klog's fatal line of `machine-config-controller bootstrap` (machine-config-operator, its `cmd`). */
const FATAL = /error running MCC\[BOOTSTRAP\]: (?<reason>.*)$/m;

/** Why the MachineConfigs were not rendered, as its log tells; undefined when it tells of no failure. */
export const rendererFailure = (log: string): string | undefined =>
  FATAL.exec(log)?.groups?.['reason']?.trim();
