import { describe, expect, it } from 'vitest';
import { doubtsAbout, originIn, startsIn } from './first-report.ts';

const proof = 'IGNITION-APPLIED text';
const report = [
  proof,
  'LABCOREOS boots: 1',
  'LABCOREOS hostname: m1',
  'LABCOREOS cmdline: BOOT_IMAGE=/x ignition.firstboot ignition.platform.id=metal',
  '',
].join('\n');

describe('the report of a first start', () => {
  it('says how often the system has started', () => {
    expect(startsIn(report)).toBe(1);
  });

  it.each(['', 'LABCOREOS boots: 0\n', 'LABCOREOS boots: \n'])('says nothing in %j', (text) => {
    expect(startsIn(text)).toBeUndefined();
  });

  it.each([
    [
      'ostree-unverified-registry:10.0.2.2:5000/ocl/master@sha256:1',
      '10.0.2.2:5000/ocl/master@sha256:1',
    ],
    ['ostree-unverified-image:docker://release/labcoreos', 'docker://release/labcoreos'],
  ])('names the image of the origin %s', (origin, image) => {
    expect(originIn(`LABCOREOS origin: ${origin}\n`)).toBe(image);
    expect(originIn(report)).toBeUndefined();
  });

  it('leaves no doubt when all is well', () => {
    expect(doubtsAbout(report, { hostname: 'm1', proof })).toEqual([]);
  });

  it.each([
    [proof, 'its Ignition was not applied'],
    ['LABCOREOS hostname: m1', 'it calls itself nothing'],
    ['ignition.firstboot', 'it was not its first boot'],
  ])('without "%s" says: %s', (text, doubt) => {
    expect(doubtsAbout(report.replace(text, ''), { hostname: 'm1', proof })).toEqual([doubt]);
  });
});
