/**
 * The Ignition config of spec 3.0 to 3.5, as it is after decoding: keys in their right case, nulls
 * and unknown keys left out, fields without a null state always there (`''` or 0). `schema.ts` says
 * which spec added which field. Source: the spec pages and JSON schemas of coreos/ignition.
 */
export interface Config {
  readonly ignition: Ignition;
  readonly kernelArguments?: KernelArguments;
  readonly passwd?: Passwd;
  readonly storage?: Storage;
  readonly systemd?: Systemd;
}

/** The `ignition` section: the version, other configs, and how to fetch. */
export interface Ignition {
  readonly version: string;
  readonly config?: ConfigReferences;
  readonly proxy?: Proxy;
  readonly security?: Security;
  readonly timeouts?: Timeouts;
}

/** Other configs: merged into this one in their order, or replacing it. */
export interface ConfigReferences {
  readonly merge?: readonly Resource[];
  readonly replace?: Resource;
}

/** Content from a URL, which may be a data URL. */
export interface Resource {
  /** `''` or `gzip`. */
  readonly compression?: string;
  readonly httpHeaders?: readonly HttpHeader[];
  readonly source?: string;
  readonly verification?: Verification;
}

/** A header of the request for a resource. In a merge, one without a value removes the parent's. */
export interface HttpHeader {
  readonly name: string;
  readonly value?: string;
}

/** `sha256-` or `sha512-` and the hex digest of the decompressed content. */
export interface Verification {
  readonly hash?: string;
}

/** Proxies for fetching. */
export interface Proxy {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: readonly string[];
}

/** What is trusted while fetching. */
export interface Security {
  readonly tls?: Tls;
}

/** Certificate authorities trusted beside those of the system. */
export interface Tls {
  readonly certificateAuthorities?: readonly Resource[];
}

/** Time limits for fetching, in seconds; 0 is no limit. */
export interface Timeouts {
  readonly httpResponseHeaders?: number;
  readonly httpTotal?: number;
}

/** Kernel arguments (spec 3.3). */
export interface KernelArguments {
  readonly shouldExist?: readonly string[];
  readonly shouldNotExist?: readonly string[];
}

/** Users and groups. */
export interface Passwd {
  readonly groups?: readonly PasswdGroup[];
  readonly users?: readonly PasswdUser[];
}

/** A group account. */
export interface PasswdGroup {
  readonly name: string;
  readonly gid?: number;
  readonly passwordHash?: string;
  readonly shouldExist?: boolean;
  readonly system?: boolean;
}

/** A user account. */
export interface PasswdUser {
  readonly name: string;
  readonly gecos?: string;
  readonly groups?: readonly string[];
  readonly homeDir?: string;
  readonly noCreateHome?: boolean;
  readonly noLogInit?: boolean;
  readonly noUserGroup?: boolean;
  readonly passwordHash?: string;
  readonly primaryGroup?: string;
  readonly sshAuthorizedKeys?: readonly string[];
  readonly shell?: string;
  readonly shouldExist?: boolean;
  readonly system?: boolean;
  readonly uid?: number;
}

/** Disks and what is on them. */
export interface Storage {
  readonly directories?: readonly Directory[];
  readonly disks?: readonly Disk[];
  readonly files?: readonly File[];
  readonly filesystems?: readonly Filesystem[];
  readonly links?: readonly Link[];
  readonly luks?: readonly Luks[];
  readonly raid?: readonly Raid[];
}

/** An owner by id or by name, not by both. */
export interface Owner {
  readonly id?: number;
  readonly name?: string;
}

/** What files, directories and links have in common. */
export interface Node {
  readonly path: string;
  readonly group?: Owner;
  readonly overwrite?: boolean;
  readonly user?: Owner;
}

/** A directory. `mode` is decimal in JSON: 493 is 0755. */
export interface Directory extends Node {
  readonly mode?: number;
}

/** A file. `mode` is decimal in JSON: 420 is 0644. */
export interface File extends Node {
  readonly append?: readonly Resource[];
  readonly contents?: Resource;
  readonly mode?: number;
}

/** A link, symbolic unless `hard`. */
export interface Link extends Node {
  readonly hard?: boolean;
  readonly target?: string;
}

/** A disk and its partition table. */
export interface Disk {
  readonly device: string;
  readonly partitions?: readonly Partition[];
  readonly wipeTable?: boolean;
}

/** A partition. Number 0 means the next free one; size 0 means all that is free. */
export interface Partition {
  readonly number: number;
  readonly guid?: string;
  readonly label?: string;
  readonly resize?: boolean;
  readonly shouldExist?: boolean;
  readonly sizeMiB?: number;
  readonly startMiB?: number;
  readonly typeGuid?: string;
  readonly wipePartitionEntry?: boolean;
}

/** A filesystem on a device. */
export interface Filesystem {
  readonly device: string;
  readonly format?: string;
  readonly label?: string;
  readonly mountOptions?: readonly string[];
  readonly options?: readonly string[];
  readonly path?: string;
  readonly uuid?: string;
  readonly wipeFilesystem?: boolean;
}

/** A software RAID array. */
export interface Raid {
  readonly name: string;
  readonly devices?: readonly string[];
  readonly level?: string;
  readonly options?: readonly string[];
  readonly spares?: number;
}

/** An encrypted device (spec 3.2). */
export interface Luks {
  readonly name: string;
  readonly cex?: Cex;
  readonly clevis?: Clevis;
  readonly device?: string;
  readonly discard?: boolean;
  readonly keyFile?: Resource;
  readonly label?: string;
  readonly openOptions?: readonly string[];
  readonly options?: readonly string[];
  readonly uuid?: string;
  readonly wipeVolume?: boolean;
}

/** Key protection by an IBM CryptoExpress adapter (spec 3.5). */
export interface Cex {
  readonly enabled?: boolean;
}

/** Automatic unlocking. */
export interface Clevis {
  readonly custom?: ClevisCustom;
  readonly tang?: readonly Tang[];
  readonly threshold?: number;
  readonly tpm2?: boolean;
}

/** A clevis pin with a configuration of its own. */
export interface ClevisCustom {
  readonly config?: string;
  readonly needsNetwork?: boolean;
  readonly pin?: string;
}

/** A tang server. */
export interface Tang {
  readonly url: string;
  readonly advertisement?: string;
  readonly thumbprint?: string;
}

/** systemd units. */
export interface Systemd {
  readonly units?: readonly Unit[];
}

/** A unit: its text, its drop-ins, whether it is enabled or masked. */
export interface Unit {
  readonly name: string;
  readonly contents?: string;
  readonly dropins?: readonly Dropin[];
  readonly enabled?: boolean;
  readonly mask?: boolean;
}

/** A drop-in of a unit. */
export interface Dropin {
  readonly name: string;
  readonly contents?: string;
}
