/** The roles that the inventory service gives in the install command. */
export const roleNames = ['bootstrap', 'master', 'arbiter', 'worker'] as const;

/** A role, by its name for `--role`. */
export type RoleName = (typeof roleNames)[number];
