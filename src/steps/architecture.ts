/** Prints the architecture of the host as the kernel names it: `x86_64`, `aarch64`, `s390x`. */
export const architectureArgv = ['uname', '-m'] as const;
