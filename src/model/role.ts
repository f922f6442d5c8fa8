/** The roles that the inventory service gives in the install command. */
export const roleNames = ['bootstrap', 'master', 'arbiter', 'worker'] as const;

/** A role as it is passed with `--role`. */
export type RoleName = (typeof roleNames)[number];
