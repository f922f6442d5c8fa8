import { expect, it } from 'vitest';
import { imageOf } from '../../../test/support/os-samples.ts';
import type { OsDeployment, OsStatus } from '../../os/status.ts';
import { mayRun } from './change.ts';
import { wantedHost } from './wanted-host.ts';

const [one, two] = [imageOf('1'), imageOf('2')];
const digestIn = (image: string): string => image.slice(image.indexOf('@') + 1);

const runs = (deployment: Pick<OsDeployment, 'image' | 'digest'>): OsStatus => ({
  booted: { checksum: 'c', isPinned: false, verification: 'none', ...deployment },
  others: [],
  isBusy: false,
});

it.each<[string, object, boolean]>([
  ['empty values', { passwd: { groups: [], users: [{ name: 'core', gecos: '' }] } }, true],
  ['empty lists', { storage: { disks: [], directories: [] } }, true],
  ['kernel arguments', { kernelArguments: { shouldExist: ['a=1'] } }, false],
  ['another user', { passwd: { users: [{ name: 'core', gecos: 'x' }] } }, false],
])('compares the install-only parts of Ignition by meaning: %s', (_, more, isSame) => {
  const fixed = (config: object): string =>
    wantedHost({ spec: { config: { ignition: { version: '3.4.0' }, ...config } } }).fixed;
  const before = fixed({ passwd: { users: [{ name: 'core' }] } });
  expect(fixed({ passwd: { users: [{ name: 'core' }] }, ...more }) === before).toBe(isSame);
});

it.each([
  ['its own name', { image: one }, true],
  ['no name, as installed from a disk image', {}, true],
  ['another name with its digest', { image: `mirror/os@${digestIn(one)}` }, true],
  ['a tag with its digest', { image: 'mirror/os:4.20', digest: digestIn(one) }, true],
  ['a tag with another digest', { image: 'mirror/os:4.20', digest: digestIn(two) }, false],
  ['a tag without a digest', { image: 'mirror/os:4.20' }, false],
  ['another digest', { image: two }, false],
])('recognizes a running image under %s', (_, deployment, expected) => {
  expect(mayRun(runs(deployment), one)).toBe(expected);
});
