import type { Config } from '../../config/schema.ts';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { goArchitecture } from '../../os/registry-image.ts';
import { givenVersion } from '../conditions.ts';
import { imageFailure } from './failures.ts';

/** Major and minor number of an OpenShift release: `4.16`. */
interface ReleaseLine {
  readonly major: number;
  readonly minor: number;
}

/** The line of a version, `4.16.2` or `4.16`; undefined if absent in the text. */
export function lineOfVersion(version: string): ReleaseLine | undefined {
  const match = /^v?(\d+)\.(\d+)(?=\D|$)/.exec(version);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

/**
 * The line that a build of RHCOS belongs to, where its number shows it: `416.94.202410211619-0` is
 * of 4.16. Builds since OpenShift 4.19 are numbered by RHEL, `9.6.20250523-0`, and show nothing.
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

/** The line that the cluster installs; undefined where nobody said it. */
export const lineOfCluster = (config: Config): ReleaseLine | undefined => {
  const version = givenVersion(config);
  return version === undefined ? undefined : lineOfVersion(version);
};

const ImageConfig = z.object({
  architecture: z.string().default(''),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).default({}),
});

/** What is known of a node image. */
interface NodeImage {
  readonly pullSpec: string;
  /** Of Go, `amd64`; empty when unknown. */
  readonly architecture: string;
  readonly line?: ReleaseLine;
}

/** What the image must fit. */
interface NodeImageHost {
  /** As `uname -m` prints it. */
  readonly architecture: string;
  readonly line: ReleaseLine | undefined;
}

/** Labels in which builds of RHCOS and releases of OpenShift report their version. */
const versionLabels = ['io.openshift.release', 'version', 'org.opencontainers.image.version'];

/**
 * Reads the output of `registryConfigArgv`; without it, or when it is unreadable, only the tag is
 * known.
 */
export function readNodeImage(pullSpec: string, inspected: string | undefined): NodeImage {
  const parsed = ImageConfig.safeParse(jsonIn(inspected ?? ''));
  const labels = parsed.data?.config.Labels ?? {};
  const reported = versionLabels.flatMap((name) => {
    const version = labels[name] ?? '';
    const line = lineOfBuild(version) ?? openshiftLine(version);
    return line === undefined ? [] : [line];
  });
  const line = reported[0] ?? lineOfTag(pullSpec);
  const architecture = parsed.data?.architecture ?? '';
  return { pullSpec, architecture, ...(line === undefined ? {} : { line }) };
}

/** Versions of RHEL, 9.6, are no line of OpenShift. */
function openshiftLine(version: string): ReleaseLine | undefined {
  const line = lineOfVersion(version);
  return line !== undefined && (line.major === 4 || line.major === 5) ? line : undefined;
}

/**
 * Refuses a node image of another release or architecture, as far as it can be known.
 * @throws AgentError `image.not-the-release`, `image.wrong-architecture`
 */
export function refuseOtherRelease(image: NodeImage, host: NodeImageHost): void {
  const { pullSpec, architecture, line } = image;
  if (architecture !== '' && architecture !== goArchitecture(host.architecture)) {
    const what = `node image ${pullSpec} is for ${architecture}, the host is ${host.architecture}`;
    throw imageFailure('image.wrong-architecture', what, {
      context: { image: pullSpec, architecture, host: host.architecture },
    });
  }
  if (line === undefined || host.line === undefined || compareLines(line, host.line) === 0) return;
  throw imageFailure(
    'image.not-the-release',
    `node image ${pullSpec} is of ${renderLine(line)}, the cluster is ${renderLine(host.line)}`,
    { context: { image: pullSpec, line: renderLine(line), cluster: renderLine(host.line) } },
  );
}
