import { Config } from '../../config/schema.ts';

/** Major and minor number of an OpenShift release: `4.16`. */
export interface ReleaseLine {
  readonly major: number;
  readonly minor: number;
}

/** The line of a version, `4.16.2` or `4.16`; undefined when there is none in the text. */
export function lineOfVersion(version: string): ReleaseLine | undefined {
  const match = /^v?(\d+)\.(\d+)(?=\D|$)/.exec(version);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

/**
 * The line that a build of RHCOS belongs to, where its number tells: `416.94.202410211619-0` is of
 * 4.16. Builds since OpenShift 4.19 are numbered by RHEL, `9.6.20250523-0`, and tell nothing.
 */
export function lineOfBuild(build: string): ReleaseLine | undefined {
  const match = /^(4)(\d{1,2})\.\d+\.\d+/.exec(build);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

/** The line in the tag of a pull spec, `…:4.16.2-x86_64`. */
export function lineOfTag(pullSpec: string): ReleaseLine | undefined {
  const tag = /:([^:/@]+)(?:@|$)/.exec(pullSpec)?.[1];
  return tag === undefined ? undefined : lineOfVersion(tag);
}

/** A line as people write it. */
export const renderLine = ({ major, minor }: ReleaseLine): string => `${major}.${minor}`;

/** Below 0 when the first is older, 0 when they are the same. */
export const compareLines = (one: ReleaseLine, other: ReleaseLine): number =>
  one.major - other.major || one.minor - other.minor;

const unsaid = Config.parse({}).cluster.openshiftVersion;

/**
 * The line that the cluster installs. Undefined where nobody said it: day-2 hosts are not told, and
 * then the setting has its default.
 */
export const lineOfCluster = ({ cluster }: Config): ReleaseLine | undefined =>
  cluster.openshiftVersion === unsaid ? undefined : lineOfVersion(cluster.openshiftVersion);
