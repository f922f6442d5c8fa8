/** A resource that is embedded. */
export const inlined = { source: 'data:,x' };

/** Sections with one file at /a. */
export const file = (members: object): object => ({
  storage: { files: [{ path: '/a', ...members }] },
});

/** Sections with one unit. */
export const unit = (members: object): object => ({
  systemd: { units: [{ name: 'a.service', ...members }] },
});

/** A storage section. */
export const storage = (members: object): object => ({ storage: members });

/** Members of the ignition section. */
export const ignition = (members: object): object => ({ ignition: members });
