import { describe, expect, it } from 'vitest';
import { proofLine as proof } from '../install/ignition.ts';
import { doubtsAbout, originIn, startsIn } from './guest-host.ts';
import { differencesFromBuilt } from './one-master.ts';

const image = `10.0.2.2:5000/ocl/master@sha256:${'1'.repeat(64)}`;
const report = [
  'LABCOREOS hostname: m1',
  'LABCOREOS boots: 1',
  'LABCOREOS cmdline: ignition.firstboot ostree=/ostree/boot.1',
  `LABCOREOS origin: ostree-unverified-registry:${image}`,
  proof,
  '',
].join('\n');

describe('the report of a first start', () => {
  it.each([
    [report, 1, image],
    [
      'LABCOREOS boots: 0\nLABCOREOS origin: ostree-unverified-image:docker://r/os\n',
      undefined,
      'docker://r/os',
    ],
    ['', undefined, undefined],
  ])('contains the number of boots and the image: %j', (text, starts, origin) => {
    expect([startsIn(text), originIn(text)]).toEqual([starts, origin]);
  });

  it.each([
    ['', []],
    [proof, ['its Ignition was not applied']],
    ['LABCOREOS hostname: m1', ['it calls itself nothing']],
    ['ignition.firstboot', ['it was not its first boot']],
  ])('without "%s" leads to the doubts %j', (text, doubts) => {
    expect(doubtsAbout(report.replace(text, ''), { hostname: 'm1', proof })).toEqual(doubts);
  });
});

describe('a virtual machine with a built image', () => {
  const host = { name: 'm1', boots: 1, system: image };

  it.each([
    [{}, []],
    [{ system: 'r/os:1' }, [`m1: runs r/os:1 instead of ${image}`]],
    [{ system: undefined }, [`m1: runs nothing that it names instead of ${image}`]],
    [{ boots: 2 }, ['m1: 2 boots instead of 1']],
  ])('with %j has the differences %j', (other, differences) => {
    const built = { image, firstReport: report };
    expect(differencesFromBuilt({ ...host, ...other }, built)).toEqual(differences);
  });

  it('has differences without an image and without applied Ignition', () => {
    const firstReport = report.replace(proof, '');
    expect(differencesFromBuilt(host, { image: undefined, firstReport })).toEqual([
      'no image was built',
      'm1: its Ignition was not applied',
    ]);
  });
});
