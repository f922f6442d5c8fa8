import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { goArchitecture } from '../../os/registry-image.ts';
import { imageFailure } from './failures.ts';

/** The line, major and minor number, of an OpenShift version: `4.16` of `4.16.2`. */
export const lineOfVersion = (version: string): string | undefined =>
  /^v?([45]\.\d+)(?=\D|$)/.exec(version)?.[1];

/**
 * The line of a build of RHCOS, if its number shows it: `416.94.202410211619-0` is of 4.16. Builds
 * since OpenShift 4.19 are numbered by RHEL, `9.6.20250523-0`, and those of Fedora CoreOS by
 * Fedora, `42.20250803.3.0`: they show none.
 */
export function lineOfBuild(build: string): string | undefined {
  const [, minor] = /^4(\d{1,2})\.\d{1,3}\.\d+/.exec(build) ?? [];
  return minor === undefined ? undefined : `4.${minor}`;
}

/** Negative if the first is older, 0 if they are the same. */
export const compareLines = (one: string, other: string): number =>
  one.localeCompare(other, 'en', { numeric: true });

const ImageConfig = z.object({
  architecture: z.string().default(''),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).default({}),
});

/** Labels with the version of a RHCOS build or of an OpenShift release. */
const versionLabels = ['io.openshift.release', 'version', 'org.opencontainers.image.version'];

/**
 * Refuses a node image of another release or architecture, as far as they are known.
 * @param inspected output of `registryConfigArgv`; without it only the tag is known
 * @param host its architecture as `uname -m` prints it, and the line of the cluster
 * @throws AgentError `image.not-the-release`, `image.wrong-architecture`
 */
export function refuseOtherRelease(
  pullSpec: string,
  inspected: string,
  host: { readonly architecture: string; readonly line: string | undefined },
): void {
  const { data } = ImageConfig.safeParse(jsonIn(inspected));
  const architecture = data?.architecture ?? '';
  if (architecture !== '' && architecture !== goArchitecture(host.architecture)) {
    const what = `node image ${pullSpec} is for ${architecture}, the host is ${host.architecture}`;
    throw imageFailure('image.wrong-architecture', what, {
      context: { image: pullSpec, architecture, host: host.architecture },
    });
  }
  const labels = versionLabels.map((name) => data?.config.Labels?.[name] ?? '');
  const reported = labels.map((version) => lineOfBuild(version) ?? lineOfVersion(version));
  const [, tag = ''] = /:([^:/@]+)(?:@|$)/.exec(pullSpec) ?? [];
  const line = reported.find((one) => one !== undefined) ?? lineOfVersion(tag);
  if (line === undefined || host.line === undefined || line === host.line) return;
  const what = `node image ${pullSpec} is of ${line}, the cluster is ${host.line}`;
  throw imageFailure('image.not-the-release', what, {
    context: { image: pullSpec, line, cluster: host.line },
  });
}
