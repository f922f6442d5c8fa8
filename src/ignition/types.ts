import type * as schema from './schema.ts';
import type { ValueOf } from './shape.ts';

/**
 * The Ignition config of spec 3.0 to 3.5, as it is after decoding: keys in their right case, nulls
 * and unknown keys left out, members without a null state always there (`''` or 0). `schema.ts` has
 * the members, and which spec added which.
 */
export type Config = Omit<ValueOf<typeof schema.configShape>, 'ignition'> & {
  readonly ignition: Ignition;
};

/** The `ignition` section: the version, other configs, and how to fetch. */
export type Ignition = ValueOf<typeof schema.ignitionShape>;

/** Content from a URL, which may be a data URL. */
export type Resource = ValueOf<typeof schema.resourceShape>;

/** A user account. */
export type PasswdUser = ValueOf<typeof schema.userShape>;

/** Disks and what is on them. */
export type Storage = ValueOf<typeof schema.storageShape>;

/** What files, directories and links have in common. */
export type Node = Pick<File, 'path' | 'group' | 'overwrite' | 'user'>;

/** A file. `mode` is decimal in JSON: 420 is 0644. */
export type File = ValueOf<typeof schema.fileShape>;

/** A link, symbolic unless `hard`. */
export type Link = ValueOf<typeof schema.linkShape>;

/** A unit: its text, its drop-ins, whether it is enabled or masked. */
export type Unit = ValueOf<typeof schema.unitShape>;
