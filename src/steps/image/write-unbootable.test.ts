import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { disk, ran, writeFacts, writer, writingHost } from '../../../test/support/written-disk.ts';
import { write } from './write.ts';

describe('image/write', () => {
  it('tries three times, makes the disk unbootable each time, and counts anew', async () => {
    const cut = `${writer.read(7)}${writer.read(40)}\nError: decoding\n\nCaused by:\n    end of file before message length reached\n`;
    const host = writingHost()
      .on(writer.argv())
      .inTurn({ exitCode: 1, stderr: cut }, { exitCode: 1, stderr: cut }, { stderr: writer.done });
    const { events, progress } = await runStep(write, { host, facts: writeFacts() });
    expect(ran(host)).toEqual([
      writer.argv(),
      disk.zero,
      disk.wipe,
      writer.argv(),
      disk.zero,
      disk.wipe,
      writer.argv(),
    ]);
    expect(
      events.flatMap((event) => (event.type === 'step.retrying' ? [event.failure.code] : [])),
    ).toEqual(['image.cut', 'image.cut']);
    expect(progress.map(({ percent }) => percent)).toEqual([7, 40, 7, 40, 3, 7, 12, 100]);
  });

  it('leaves a disk alone that the writer found busy', async () => {
    const busy =
      'Partitions in use on /dev/sda:\n    /dev/sda1 mounted on /x\nError: checking for exclusive access to /dev/sda\n\nCaused by:\n    found busy partitions\n';
    const host = writingHost().on(writer.argv()).fails(1, busy);
    const { failure } = await tryStep(write, { host, facts: writeFacts() });
    expect(failure).toMatchObject({ code: 'disk.busy', kind: 'host' });
    expect(ran(host)).toEqual([writer.argv(), writer.argv(), writer.argv()]);
  });

  it('has two seconds and a half for partitions that boot when the run is stopped', async () => {
    const stop = new AbortController();
    const disks = disk.lsblk(
      ['EFI-SYSTEM', 'boot', 'root'].map((partlabel, index) => ({
        name: `sda${index + 2}`,
        'maj:min': `8:${index + 2}`,
        type: 'part',
        partlabel,
      })),
    );
    const host = writingHost().on(['lsblk', rest]).prints(disks);
    host.on(['wipefs', rest]).succeeds();
    host.on(['coreos-installer', rest]).answers(() => {
      stop.abort(new Error('stopped'));
      return { exitCode: 1, stderr: writer.read(50) };
    });
    const config = { image: { writerArgs: ['--save-partindex', '5'] } };
    await tryStep(write, { config, host, facts: writeFacts(), signal: stop.signal });
    const undo = host.calls.slice(-3);
    expect(undo.map(({ argv: [program] }) => program)).toEqual(['lsblk', 'wipefs', 'wipefs']);
    expect(undo.reduce((sum, { limit }) => sum + limit, 0)).toBe(2500);
  });

  it('keeps partitions that are to be kept, and wipes only what boots', async () => {
    const disks = disk.lsblk([
      { name: 'sda2', 'maj:min': '8:2', type: 'part', partlabel: 'EFI-SYSTEM' },
      { name: 'sda3', 'maj:min': '8:3', type: 'part', partlabel: 'boot' },
      { name: 'sda5', 'maj:min': '8:5', type: 'part', partlabel: 'data' },
    ]);
    const args = ['--save-partlabel', 'data'];
    const host = writingHost()
      .on(writer.argv(...args))
      .fails(1, `${writer.read(50)}Error: x\n`)
      .on(['lsblk', rest])
      .prints(disks)
      .on(['wipefs', '--all', '--force', rest])
      .succeeds();
    await tryStep(write, { config: { image: { writerArgs: args } }, host, facts: writeFacts() });
    const wiped = host.ran.filter(([program]) => program === 'wipefs').map((words) => words.at(-1));
    expect(new Set(wiped)).toEqual(new Set(['/dev/sda2', '/dev/sda3']));
    expect(ran(host)).not.toContainEqual(disk.zero);
  });

  it('makes the disk unbootable when the run is stopped in the middle', async () => {
    const clock = fakeClock({ auto: false });
    const run = new AbortController();
    const host = writingHost(clock).on(writer.argv()).hangs(writer.read(60));
    const ending = tryStep(write, { host, clock, facts: writeFacts(), signal: run.signal });
    await clock.advance(1000);
    run.abort(new Error('stopped'));
    await ending;
    expect(ran(host)).toEqual([writer.argv(), disk.zero, disk.wipe]);
    expect(host.calls.slice(-2).map(({ limit }) => limit)).toEqual([1500, 1000]);
  });
});
