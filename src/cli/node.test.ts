import { describe, expect, it } from 'vitest';
import { imageOf, originFile, ostreeStagedOutput, sum } from '../../test/support/os-samples.ts';
import { plainOstree } from '../os/plain-ostree.ts';
import type { OsSnapshot } from '../steps/os/step.ts';
import { renderStatusJson, renderStatusText } from './node.ts';

const details = ['2', '1', '0'].flatMap((digit) => [originFile(digit), `'sha256:${sum(digit)}'`]);
const snapshot: OsSnapshot = {
  driver: 'ostree',
  reason: 'there is nothing else',
  status: plainOstree.readStatus(ostreeStagedOutput, details),
  commandLine: 'BOOT_IMAGE=/vmlinuz ostree=/ostree/boot.1/rhcos/a/0 rw quiet',
};

describe('node status', () => {
  it('tells people what boots next first, then all that can be booted', () => {
    const lines = renderStatusText(snapshot).split('\n');
    expect(lines.slice(0, 5)).toEqual([
      'driver      ostree: there is nothing else',
      `boots next  ${imageOf('2')}`,
      '',
      `staged      ${imageOf('2')}`,
      `  digest    sha256:${sum('2')}`,
    ]);
    const names = ['staged', 'booted', 'rollback', 'kernel'];
    expect(
      lines.map((line) => line.split(' ')[0]).filter((word) => names.includes(word ?? '')),
    ).toEqual(names);
    expect(lines).toContain('kernel      rw quiet');
  });

  it('tells that nothing changes, and what is pinned', () => {
    const booted = { checksum: sum('1'), isPinned: true, verification: 'none' } as const;
    const status = { booted, others: [], isBusy: true };
    const text = renderStatusText({ ...snapshot, status });
    expect(text).toMatch(/^boots next {2}the booted deployment$/m);
    expect(text).toMatch(/^booted {6}commit 1{64}$/m);
    expect(text).toMatch(/^ {2}pinned {4}yes$/m);
    expect(text).toMatch(/^busy {8}/m);
  });

  it('tells programs the same', () => {
    expect(JSON.parse(renderStatusJson(snapshot))).toMatchObject({
      driver: 'ostree',
      booted: { checksum: sum('1') },
      staged: { image: imageOf('2'), digest: `sha256:${sum('2')}` },
      rollback: { checksum: sum('0') },
      others: [],
      isBusy: false,
      kernelArguments: ['rw', 'quiet'],
    });
  });
});
