/**
 * Where a container that was started with --pid=host has the files of the host (proc_pid_root(5)).
 */
export const HOST_ROOT = '/proc/1/root';
