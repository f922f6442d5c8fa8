import { describe, expect, it } from 'vitest';
import { recorded } from '../../test/support/os-samples.ts';
import { readBootcStatus } from '../os/bootc.ts';
import type { OsSnapshot } from '../steps/os/request.ts';
import { renderStatusJson, renderStatusText } from './node.ts';

const snapshotOf = (name: string): OsSnapshot => ({
  driver: 'bootc',
  reason: 'this host was booted by bootc',
  status: readBootcStatus(recorded(`bootc-1.16.9/status-${name}.json`)),
  commandLine: 'BOOT_IMAGE=/vmlinuz ostree=/ostree/boot.1/rhcos/a/0 rw quiet',
});
const [one, two] = ['10.0.2.2:5000/lab/os:1', '10.0.2.2:5000/lab/os:2'];

describe('the output of node apply and node rollback', () => {
  it('shows what boots next first and then all deployments', () => {
    const lines = renderStatusText(snapshotOf('rollback-queued')).split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'driver      bootc: this host was booted by bootc',
      `boots next  ${one}`,
      '',
      `pending     ${one}`,
    ]);
    expect(lines).toContain(`booted      ${two}`);
    expect(lines).toContain('kernel      rw quiet');
  });

  it('shows pinned and locked deployments', () => {
    expect(renderStatusText(snapshotOf('pinned'))).toMatch(/^ {2}pinned {4}yes$/m);
    const locked = renderStatusText(snapshotOf('locked'));
    expect(locked).toMatch(/^boots next {2}the booted deployment$/m);
    expect(locked).toMatch(/^ {2}locked {4}a reboot leaves it out$/m);
  });

  it('renders the status as JSON', () => {
    expect(JSON.parse(renderStatusJson(snapshotOf('staged')))).toMatchObject({
      driver: 'bootc',
      booted: { image: one },
      staged: { image: two, version: '2.0.0' },
      others: [],
      isBusy: false,
      kernelArguments: ['rw', 'quiet'],
    });
  });
});
