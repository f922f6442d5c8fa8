import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { imageFailure } from './failures.ts';
import {
  compareLines,
  lineOfBuild,
  lineOfTag,
  lineOfVersion,
  type ReleaseLine,
  renderLine,
} from './release.ts';

/** Prints the configuration of a container image, which has its labels. */
export const inspectArgv = (pullSpec: string): readonly string[] => [
  'skopeo',
  'inspect',
  '--config',
  `docker://${pullSpec}`,
];

const ImageConfig = z.object({
  architecture: z.string().default(''),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).default({}),
});

/** What is known of a node image. */
export interface NodeImage {
  readonly pullSpec: string;
  /** Of Go, `amd64`; empty when unknown. */
  readonly architecture: string;
  readonly line?: ReleaseLine;
}

/** What the image must fit. */
export interface NodeImageHost {
  /** As `uname -m` prints it. */
  readonly architecture: string;
  readonly line: ReleaseLine | undefined;
}

/** Architectures as Go names them, by what `uname -m` prints. */
const goNames: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  ppc64le: 'ppc64le',
  s390x: 's390x',
};

/** Labels in which builds of RHCOS and releases of OpenShift tell their version. */
const versionLabels = ['io.openshift.release', 'version', 'org.opencontainers.image.version'];

/** Reads the output of `inspectArgv`; without it, or when it is unreadable, only the tag is known. */
export function readNodeImage(pullSpec: string, inspected: string | undefined): NodeImage {
  const parsed = ImageConfig.safeParse(jsonIn(inspected ?? ''));
  const labels = parsed.data?.config.Labels ?? {};
  const told = versionLabels.flatMap((name) => {
    const version = labels[name] ?? '';
    const line = lineOfBuild(version) ?? openshiftLine(version);
    return line === undefined ? [] : [line];
  });
  const line = told[0] ?? lineOfTag(pullSpec);
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
  const wanted = goNames[host.architecture];
  if (architecture !== '' && wanted !== undefined && architecture !== wanted) {
    throw imageFailure(
      'image.wrong-architecture',
      `node image ${pullSpec} is for ${architecture}, the host is ${host.architecture}`,
      { context: { image: pullSpec, architecture, host: host.architecture } },
    );
  }
  if (line === undefined || host.line === undefined || compareLines(line, host.line) === 0) return;
  throw imageFailure(
    'image.not-the-release',
    `node image ${pullSpec} is of ${renderLine(line)}, the cluster is ${renderLine(host.line)}`,
    { context: { image: pullSpec, line: renderLine(line), cluster: renderLine(host.line) } },
  );
}
