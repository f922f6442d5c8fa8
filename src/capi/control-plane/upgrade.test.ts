import { describe, expect, it } from 'vitest';
import { controlPlaneOf } from '../../../test/support/capi-world.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ownNames } from '../api.ts';
import { upgradeOf } from './upgrade.ts';

const image = (digit: string): string => `r.test/ocp@sha256:${digit.repeat(64)}`;
const entry = (digit: string, version: string, state: string) => ({
  image: image(digit),
  version,
  state,
});

const cluster = (
  history: readonly object[],
  more: { readonly spec?: object; readonly conditions?: readonly object[] } = {},
): KubeObject => ({
  metadata: { name: 'version' },
  spec: more.spec ?? {},
  status: { history, desired: history[0], conditions: more.conditions ?? [] },
});

const installed = [entry('1', '4.19.7', 'Completed')];
const no = (type: string, message: string) => [{ type, status: 'False', message }];

describe('the version of a cluster', () => {
  it.each([
    ['has no finding without a ClusterVersion', undefined, undefined],
    [
      'has no finding during the installation',
      cluster([entry('1', '4.19.7', 'Partial')]),
      undefined,
    ],
    ['is up to date with the same image', cluster(installed), 'UpToDate', image('1')],
    [
      'is up to date with the same digest from a mirror',
      cluster(installed),
      'UpToDate',
      `mirror.test/x@sha256:${'1'.repeat(64)}`,
    ],
    ['is updated to another image', cluster(installed), 'Requested'],
    ['is not updated to a tag', cluster(installed), 'NoDigest', 'r.test/ocp:4.20'],
    [
      'is progressing when the update was requested before',
      cluster(installed, { spec: { desiredUpdate: { image: image('2') } } }),
      'Progressing',
    ],
    [
      'reports a refused release',
      cluster(installed, {
        spec: { desiredUpdate: { image: image('2') } },
        conditions: no('ReleaseAccepted', 'no signature'),
      }),
      'ReleaseRefused',
    ],
    [
      'is held when an operator is not upgradeable',
      cluster(installed, { conditions: no('Upgradeable', 'API removed') }),
      'NotUpgradeable',
    ],
    [
      'is progressing while the update is under way',
      cluster([entry('2', '4.20.1', 'Partial'), ...installed]),
      'Progressing',
    ],
    [
      'is up to date when the update is completed',
      cluster([entry('2', '4.20.1', 'Completed'), ...installed]),
      'UpToDate',
    ],
  ])('%s', (...[, seen, reason, releaseImage = image('2')]) => {
    const controlPlane = controlPlaneOf({ releaseImage, distributionVersion: '4.20.1' });
    const { finding, update } = upgradeOf(controlPlane, seen);
    expect(finding?.reason).toBe(reason);
    const wanted = { image: releaseImage, version: '4.20.1', force: false };
    expect(update).toEqual(reason === 'Requested' ? wanted : undefined);
  });

  it.each([
    [
      'updated from inside the cluster',
      [entry('9', '4.19.9', 'Completed'), ...installed],
      '4.19.7',
      'NewerThanSpec',
    ],
    [
      'being updated from inside the cluster',
      [entry('9', '4.19.9', 'Partial'), ...installed],
      '4.19.7',
      'NewerThanSpec',
    ],
    ['a later minor version', [entry('9', '4.20.0', 'Completed')], '4.19.30', 'NewerThanSpec'],
    [
      'a release newer than its candidate',
      [entry('9', '4.20.0', 'Completed')],
      '4.20.0-rc.3',
      'NewerThanSpec',
    ],
    [
      'a later candidate',
      [entry('9', '4.20.0-rc.10', 'Completed')],
      '4.20.0-rc.9',
      'NewerThanSpec',
    ],
    [
      'but updated while an older version is under way',
      [entry('9', '4.19.5', 'Partial'), ...installed],
      '4.19.7',
      'Requested',
    ],
    [
      'but updated to another build of the same version',
      [entry('9', '4.19.7', 'Completed')],
      '4.19.7',
      'Requested',
    ],
  ])('is never downgraded: %s', (...[, history, distributionVersion, reason]) => {
    const controlPlane = controlPlaneOf({ releaseImage: image('1'), distributionVersion });
    const { finding, update } = upgradeOf(controlPlane, cluster(history));
    expect(finding?.reason).toBe(reason);
    expect(update !== undefined).toBe(reason === 'Requested');
    if (reason === 'NewerThanSpec')
      expect(finding?.message).toContain(`spec.distributionVersion is ${distributionVersion}`);
  });

  it('is downgraded only to the version in the annotation', () => {
    const newer = cluster([entry('9', '4.19.9', 'Completed'), ...installed]);
    const spec = { releaseImage: image('1'), distributionVersion: '4.19.7' };
    const marked = (version: string) => {
      const controlPlane = controlPlaneOf(spec);
      const annotations = { [ownNames.allowDowngradeTo]: version };
      const metadata = { ...controlPlane.metadata, annotations };
      return upgradeOf({ ...controlPlane, metadata }, newer);
    };
    expect(marked('4.19.7').update).toMatchObject({ version: '4.19.7', force: false });
    expect(marked('4.19.6').update).toBeUndefined();
  });

  it.each([
    ['4.21.1', 'NotUpgradeable'],
    ['4.20.1', 'Requested'],
    ['5.0.1', 'Requested'],
  ])('is updated from 4.19.7 one minor version at a time: %s', (distributionVersion, reason) => {
    const controlPlane = controlPlaneOf({ releaseImage: image('2'), distributionVersion });
    const { finding, update } = upgradeOf(controlPlane, cluster(installed));
    expect(finding?.reason).toBe(reason);
    expect(update !== undefined).toBe(reason === 'Requested');
  });

  it('is not held by operators within a minor version', () => {
    const held = cluster(installed, { conditions: no('Upgradeable', 'API removed') });
    const controlPlane = controlPlaneOf({
      releaseImage: image('2'),
      distributionVersion: '4.19.9',
    });
    expect(upgradeOf(controlPlane, held)).toMatchObject({
      version: '4.19.7',
      update: { version: '4.19.9', force: false },
    });
  });
});
