import { describe, expect, it } from 'vitest';
import { proofLine } from '../install/ignition.ts';
import { differencesFromBuilt } from './one-master.ts';

const image = `10.0.2.2:5000/ocl/master@sha256:${'1'.repeat(64)}`;
const host = { name: 'm1', boots: 1, system: image };
const report = [
  'LABCOREOS hostname: m1',
  'LABCOREOS cmdline: ignition.firstboot ostree=/ostree/boot.1',
  proofLine,
  '',
].join('\n');

describe('a virtual machine whose system was built', () => {
  it('is as expected when it booted once, into that image', () => {
    expect(differencesFromBuilt(host, { image, firstReport: report })).toEqual([]);
  });

  it.each([
    [
      'runs another system',
      { system: 'release/labcoreos:1.0.0' },
      /^m1: runs release\/lab.* instead of 10\.0/,
    ],
    ['does not say what it runs', { system: undefined }, /^m1: runs nothing that it names instead/],
    ['booted twice', { boots: 2 }, /^m1: 2 boots instead of 1$/],
  ])('is not when it %s', (_, other, words) => {
    const differences = differencesFromBuilt({ ...host, ...other }, { image, firstReport: report });
    expect(differences).toHaveLength(1);
    expect(differences[0]).toMatch(words);
  });

  it('is not when there was no image, or its Ignition was not applied', () => {
    const firstReport = report.replace(proofLine, '');
    expect(differencesFromBuilt(host, { image: undefined, firstReport })).toEqual([
      'no image was built',
      'm1: its Ignition was not applied',
    ]);
  });
});
