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
  it.each<[string, KubeObject | undefined, string, string | undefined]>([
    ['not seen', undefined, image('2'), undefined],
    ['being installed', cluster([entry('1', '4.19.7', 'Partial')]), image('2'), undefined],
    ['as it is to be', cluster(installed), image('1'), 'UpToDate'],
    ['from a mirror', cluster(installed), `mirror.test/x@sha256:${'1'.repeat(64)}`, 'UpToDate'],
    ['another one', cluster(installed), image('2'), 'Requested'],
    ['a tag', cluster(installed), 'r.test/ocp:4.20', 'NoDigest'],
    [
      'asked for before',
      cluster(installed, { spec: { desiredUpdate: { image: image('2') } } }),
      image('2'),
      'Progressing',
    ],
    [
      'refused',
      cluster(installed, {
        spec: { desiredUpdate: { image: image('2') } },
        conditions: no('ReleaseAccepted', 'no signature'),
      }),
      image('2'),
      'ReleaseRefused',
    ],
    [
      'held by an operator',
      cluster(installed, { conditions: no('Upgradeable', 'API removed') }),
      image('2'),
      'NotUpgradeable',
    ],
    [
      'under way',
      cluster([entry('2', '4.20.1', 'Partial'), ...installed]),
      image('2'),
      'Progressing',
    ],
    ['there', cluster([entry('2', '4.20.1', 'Completed'), ...installed]), image('2'), 'UpToDate'],
  ])('%s', (...[, seen, releaseImage, reason]) => {
    const controlPlane = controlPlaneOf({ releaseImage, distributionVersion: '4.20.1' });
    const { finding, update } = upgradeOf(controlPlane, seen);
    expect(finding?.reason).toBe(reason);
    const wanted = { image: releaseImage, version: '4.20.1', force: false };
    expect(update).toEqual(reason === 'Requested' ? wanted : undefined);
  });

  it.each<[string, readonly object[], string, string]>([
    [
      'updated inside',
      [entry('9', '4.19.9', 'Completed'), ...installed],
      '4.19.7',
      'NewerThanSpec',
    ],
    [
      'being updated inside',
      [entry('9', '4.19.9', 'Partial'), ...installed],
      '4.19.7',
      'NewerThanSpec',
    ],
    ['a minor version further', [entry('9', '4.20.0', 'Completed')], '4.19.30', 'NewerThanSpec'],
    [
      'a release, and not its candidate',
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
      'an older one under way',
      [entry('9', '4.19.5', 'Partial'), ...installed],
      '4.19.7',
      'Requested',
    ],
    ['another build of the version', [entry('9', '4.19.7', 'Completed')], '4.19.7', 'Requested'],
  ])('is never ordered back: %s', (...[, history, distributionVersion, reason]) => {
    const controlPlane = controlPlaneOf({ releaseImage: image('1'), distributionVersion });
    const { finding, update } = upgradeOf(controlPlane, cluster(history));
    expect(finding?.reason).toBe(reason);
    expect(update !== undefined).toBe(reason === 'Requested');
    if (reason === 'NewerThanSpec')
      expect(finding?.message).toContain(`spec.distributionVersion is ${distributionVersion}`);
  });

  it('is ordered back to the version that a person marks, and to no other', () => {
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

  it('is not held within a minor version', () => {
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
