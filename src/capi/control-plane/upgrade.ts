import { conditionOf, listAt, partOf, textAt } from '../../kube/object.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type OpenShiftControlPlane, ownNames } from '../api.ts';
import { type CheckResult, passedCheck, failedCheck } from '../conditions.ts';

/** The version of a cluster by its own operator, and the update to request. */
export interface UpgradeVerdict {
  /** The version that is fully rolled out; undefined during the installation. */
  readonly version?: string;
  /** The state of an upgrade; undefined during the installation. */
  readonly finding?: CheckResult;
  /** The update to request from the operator. */
  readonly update?: { readonly version: string; readonly image: string; readonly force: false };
}

const digestOf = (image: string): string => image.split('@')[1] ?? '';

/**
 * Decides about the version of a cluster. Once the cluster is installed, another release in the
 * control plane becomes an update request to the cluster-version operator, by digest, and never
 * against the operator's checks. A cluster that was updated in another way keeps its newer version,
 * unless a person marks the lower one.
 */
export function upgradeOf(
  { metadata, spec: { releaseImage, distributionVersion } }: OpenShiftControlPlane,
  clusterVersion: KubeObject | undefined,
): UpgradeVerdict {
  const history = listAt(clusterVersion, 'status', 'history') as readonly KubeObject[];
  const done = history.find((one) => partOf(one, 'state') === 'Completed');
  if (clusterVersion === undefined || done === undefined) return {};
  const version = textAt(done, 'version');
  const wanted = digestOf(releaseImage);
  const found = (finding: CheckResult): UpgradeVerdict => ({ version, finding });
  if (wanted === '') return found(failedCheck('NoDigest', 'spec.releaseImage has no digest'));
  if (digestOf(textAt(done, 'image')) === wanted && history[0] === done)
    return found(failedCheck('UpToDate'));
  const isAsked = [
    ['spec', 'desiredUpdate', 'image'],
    ['status', 'desired', 'image'],
  ].some((path) => digestOf(textAt(clusterVersion, ...path)) === wanted);
  if (isAsked) return found(progressOf(clusterVersion));
  const newer = [history[0], partOf(clusterVersion, 'status', 'desired')]
    .map((one) => textAt(one as KubeObject | undefined, 'version'))
    .find((one) => isNewer(one, distributionVersion));
  const allowed = metadata.annotations?.[ownNames.allowDowngradeTo];
  if (newer !== undefined && allowed !== distributionVersion) {
    const message = `the cluster has or gets ${newer}, and spec.distributionVersion is ${distributionVersion}: take releaseImage and distributionVersion of the cluster over into the control plane, or set its annotation ${ownNames.allowDowngradeTo} to the lower version`;
    return found(failedCheck('NewerThanSpec', message));
  }
  if (skipsMinor(version, distributionVersion)) {
    const message = `${version} to ${distributionVersion} leaves out a minor version: OpenShift is updated to one after the other`;
    return found(failedCheck('NotUpgradeable', message));
  }
  const upgradeable = conditionOf(clusterVersion, 'Upgradeable');
  if (upgradeable.status === 'False' && isOtherMinor(version, distributionVersion))
    return found(failedCheck('NotUpgradeable', upgradeable.message));
  const update = { version: distributionVersion, image: releaseImage, force: false } as const;
  return { ...found(passedCheck('Requested', `${version} to ${distributionVersion}`)), update };
}

const inNumbers = new Intl.Collator('en', { numeric: true });

/**
 * Whether one version comes after another (semver.org): a release comes after its release
 * candidates.
 */
function isNewer(one: string, other: string): boolean {
  const [mine, others] = [releaseVersion(one), releaseVersion(other)];
  if (mine === undefined || others === undefined) return false;
  if (!isAtLeast(others, mine)) return true;
  if (!isAtLeast(mine, others)) return false;
  const [before, after] = [candidateOf(one), candidateOf(other)];
  if (before === '' || after === '') return before === '' && after !== '';
  return inNumbers.compare(before, after) > 0;
}

const candidateOf = (version: string): string => /-([^+]+)/.exec(version)?.[1] ?? '';

/** Progress in the operator's own words. */
function progressOf(clusterVersion: KubeObject): CheckResult {
  const accepted = conditionOf(clusterVersion, 'ReleaseAccepted');
  if (accepted.status === 'False') return failedCheck('ReleaseRefused', accepted.message);
  const failing = conditionOf(clusterVersion, 'Failing');
  if (failing.status === 'True') return passedCheck('Failing', failing.message);
  return passedCheck('Progressing', conditionOf(clusterVersion, 'Progressing').message);
}

/**
 * Whether an update leaves out a minor version, which OpenShift does not support. For an image that
 * its channel does not have the operator only warns (cluster-version-operator,
 * `pkg/payload/precondition/clusterversion`).
 */
function skipsMinor(from: string, to: string): boolean {
  const [[major, minor] = [], [otherMajor, otherMinor] = []] = [
    releaseVersion(from),
    releaseVersion(to),
  ];
  return major === otherMajor && Number(otherMinor) > Number(minor) + 1;
}

/**
 * `Upgradeable` only blocks an update to another minor version (cluster-version-operator,
 * `pkg/payload/precondition`).
 */
function isOtherMinor(from: string, to: string): boolean {
  const [one, other] = [releaseVersion(from), releaseVersion(to)];
  return one?.[0] !== other?.[0] || one?.[1] !== other?.[1];
}
