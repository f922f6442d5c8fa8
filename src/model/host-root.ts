/** Path of the host's files in a container with --pid=host (proc_pid_root(5)). */
export const HOST_ROOT = '/proc/1/root';
