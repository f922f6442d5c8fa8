import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep } from '../../../test/support/run-step.ts';
import { formatExtraDisks } from './format-extra.ts';
import { forgetTablesArgvs, tablesOf, wipefsListArgv } from './wipe.ts';

const target = blockDevice('sda');
const extra = blockDevice('sdb', {}, [partition('sdb1')]);
const facts = { disk: targetOf(target) };
const lister = ['wipefs', '--noheadings', rest] as const;
const newHost = () =>
  fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(target, extra))
    .on(['dd', rest])
    .succeeds()
    .on(['wipefs', rest])
    .succeeds()
    .on(['blockdev', rest])
    .succeeds()
    .on(['udevadm', rest])
    .succeeds();
const config = { disk: { format: ['/dev/sdb'] } };
const written = (host: ReturnType<typeof newHost>) => host.ran.slice(1);

describe('disk/format-extra', () => {
  it('takes the tables of a further disk and looks whether they are gone', async () => {
    const host = newHost();
    await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host)).toEqual([
      ...forgetTablesArgvs('/dev/sdb', tablesOf(extra)),
      wipefsListArgv('/dev/sdb'),
    ]);
  });

  it('writes to no other disk', async () => {
    const host = newHost();
    const { notes } = await runStep(formatExtraDisks, {
      host,
      facts,
      config: { disk: { format: ['/dev/sda', '/dev/sdx'] } },
    });
    expect(written(host)).toEqual([]);
    expect(notes).toEqual([
      'warn: /dev/sda was not formatted: it is the install disk',
      'warn: /dev/sdx was not formatted: /dev/sdx is not a disk of this host',
    ]);
  });

  it('goes on when a disk keeps its signatures', async () => {
    const host = newHost().on(['dd', rest]).fails(1, 'I/O error').on(lister).prints('gpt 0x200');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(notes).toEqual([
      'warn: /dev/sdb was not formatted: wipefs still finds signatures: gpt 0x200',
    ]);
  });

  it('is content when the disk is clean in the end', async () => {
    const host = newHost().on(['blockdev', rest]).fails(1, 'busy');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(notes.at(-1)).toBe('info: /dev/sdb has no partition table any more');
  });

  it('does not run without further disks', async () => {
    const { events } = await runStep(formatExtraDisks, { host: newHost(), facts });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(formatExtraDisks, () => ({ host: newHost(), facts, config }));
  });
});
