import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { reportsOf, runStep, tryStep } from '../../../test/support/run-step.ts';
import { disk, ran, writeFacts, writer, writingHost } from '../../../test/support/written-disk.ts';
import { describeRole } from '../../engine/describe.ts';
import type { ChosenImage } from './facts.ts';
import { keptPartition, sfdiskOutput } from '../../../test/support/disk-samples.ts';
import { tableArgv } from '../disk/kept.ts';
import { writeImage } from './write.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';

const keepingFacts = () => {
  const facts = writeFacts();
  const kept = [keptPartition(3, 'data', 9000), keptPartition(4, 'logs', 20_000)];
  return { ...facts, disk: { ...facts.disk, kept } };
};

/** The table of a disk that has them, with the numbers that the writer gave them. */
const keptTable = sfdiskOutput([5, 'data', 9000], [6, 'logs', 20_000]);

const part = (number: number, partlabel: string, partuuid: string) => ({
  name: `sda${number}`,
  'maj:min': `8:${number}`,
  type: 'part',
  partlabel,
  partuuid,
});

describe('image/write', () => {
  it('runs the writer with only the Ignition and the disk for the live image', async () => {
    const host = writingHost().on(writer.argv()).prints('', writer.done);
    const { value, progress, notes } = await runStep(writeImage, { host, facts: writeFacts() });
    expect(ran(host)).toEqual([writer.argv()]);
    expect(writer.callOn(host)).toMatchObject({
      env: { RUST_BACKTRACE: '0' },
      limit: hours(12),
      isKillable: true,
    });
    expect(value).toStrictEqual({ disk: '/dev/sda' });
    expect(notes).toEqual([]);
    expect(progress.map(({ info, percent }) => [info, percent])).toEqual([
      ['3%', 3],
      ['7%', 7],
      ['12%', 12],
      ['100%', 100],
    ]);
  });

  it('verifies a file again right before it is written', async () => {
    const sha256 = 'a'.repeat(64);
    const host = writingHost()
      .on(['sha256sum', '--', '/a.raw'])
      .inTurn(`${sha256}  /a.raw`, `${'b'.repeat(64)}  /a.raw`)
      .on(writer.argv('--image-file', '/a.raw'))
      .prints('', writer.done);
    const image: ChosenImage = { kind: 'file', path: '/a.raw', sha256, because: '' };
    expect((await runStep(writeImage, { host, facts: writeFacts(image) })).value.sha256).toBe(
      sha256,
    );
    const { failure } = await tryStep(writeImage, { host, facts: writeFacts(image) });
    expect(failure).toMatchObject({ code: 'image.wrong-digest' });
    expect(host.ran.filter(([program]) => program === 'coreos-installer')).toHaveLength(1);
  });

  it('writes a file without a digest without hashing it', async () => {
    const words = writer.argv('--image-file', '/a.raw');
    const host = writingHost().on(words).prints('', writer.done);
    const facts = writeFacts({ kind: 'file', path: '/a.raw', because: '' });
    expect((await runStep(writeImage, { host, facts })).value).toStrictEqual({ disk: '/dev/sda' });
    expect(ran(host)).toEqual([words]);
  });

  it.each<[ConfigInput['image'], string[]]>([
    [{}, []],
    [{ file: '/a.raw' }, ['--image-file', '/a.raw']],
    [{ stream: '/s.json' }, ['--image-url', 'http://127.0.0.1:<port>/<image>']],
    [{ url: 'https://m.example/a.raw' }, ['--image-url', 'http://127.0.0.1:<port>/<image>']],
    [{ writerArgs: ['--stream', 'stable'] }, ['--stream', 'stable']],
  ])('plans the command that it runs: %j', (image, words) => {
    const plan = describeRole(
      { name: 'r', title: '', ladder: 'master', steps: [writeImage] },
      Config.parse({ image }),
    );
    expect(plan.items[0]).toMatchObject({
      step: {
        commands: [
          [...writer.argv().slice(0, 4), '<ignition.host.path>', ...words, '<disk.target.path>'],
        ],
      },
    });
  });
});

it('plans to read the table of a disk that keeps partitions', () => {
  const config = Config.parse({ image: { writerArgs: ['--save-partlabel=data'] } });
  const { disk, ignition, image } = writeFacts();
  expect(writeImage.preview?.(config, { disk, ignition, image })).toEqual([
    tableArgv('/dev/sda'),
    writer.argv('--save-partlabel=data'),
  ]);
});

describe('image/write', () => {
  it('gives up when neither the writer nor the disk makes progress for 30 minutes', async () => {
    const clock = fakeClock();
    const host = writingHost(clock).withFile('/sys/block/sda/stat', ' 1 2 3 4 5 6 700 8 9');
    host.on(writer.argv()).hangs(writer.read(60));
    const { failure, events } = await tryStep(writeImage, { host, clock, facts: writeFacts() });
    expect(failure).toMatchObject({
      code: 'image.stalled',
      kind: 'limit',
      context: { phase: 'read' },
    });
    // The first poll, a minute after the start, sees the last progress.
    expect(clock.now()).toBe(minutes(31));
    const reports = reportsOf(events, { ladder: 'master', stage: 'Installing' });
    expect(reports.slice(1)).toEqual([
      '0: 60%',
      '10: 60%, stalled (9 min)',
      '20: 60%, stalled (19 min)',
      '30: 60%, stalled (29 min)',
    ]);
    expect(ran(host)).toEqual([writer.argv(), disk.zero, disk.wipe]);
  });

  it('waits for a slow disk while it writes sectors', async () => {
    const clock = fakeClock();
    const host = writingHost(clock);
    const slow = {
      ...host,
      readText: () => Promise.resolve(`   1   2   3   4   5   6   ${clock.now()}   8   9`),
    };
    host.on(writer.argv()).answers(async (_argv, _host, { signal }) => {
      await clock.sleep(hours(2), signal);
      return { stderr: writer.done };
    });
    const { value } = await runStep(writeImage, { host: slow, clock, facts: writeFacts() });
    expect(value).toEqual({ disk: '/dev/sda' });
  });

  it('reads no statistics of the disk while the writer makes progress', async () => {
    const clock = fakeClock();
    const host = writingHost(clock);
    let reads = 0;
    const counting = {
      ...host,
      readText: () => {
        reads += 1;
        return Promise.resolve(undefined);
      },
    };
    host.on(writer.argv()).answers(async (_argv, _host, { signal }) => {
      for (let percent = 1; percent < 100; percent += 1) {
        await clock.sleep(seconds(40), signal);
        writer.callOn(host)?.onLine?.(writer.read(percent).trim(), 'stderr');
      }
      return { stderr: writer.done };
    });
    await runStep(writeImage, { host: counting, clock, facts: writeFacts() });
    expect(reads).toBe(0);
  });

  it.each([
    ['has no statistics', () => Promise.resolve(undefined)],
    ['cannot be read', () => Promise.reject(new Error('the host does not answer'))],
  ])('gives up after 30 minutes without progress of a disk that %s', async (_, readText) => {
    const clock = fakeClock();
    const host = writingHost(clock);
    host.on(writer.argv()).hangs(writer.read(60));
    const silent = { ...host, readText };
    const { failure } = await tryStep(writeImage, { host: silent, clock, facts: writeFacts() });
    expect(failure).toMatchObject({ code: 'image.stalled' });
    expect(clock.now()).toBe(minutes(30));
  });

  it('leaves the failure of another command, and a missing writer, as they are', async () => {
    const unread = writingHost().on(['lsblk', rest]).fails(1, 'lsblk: no memory');
    for (const [host, failure] of [
      [unread, { code: 'command.failed', message: expect.stringContaining('lsblk') as string }],
      [writingHost().on(writer.argv()).isMissing(), { code: 'command.not-found' }],
    ] as const)
      expect((await tryStep(writeImage, { host, facts: writeFacts() })).failure).toMatchObject(
        failure,
      );
  });

  it.each([
    ['ends', 3, undefined, 1],
    ['does not end', Infinity, 'disk.locked', 0],
  ])('waits for a writer of an earlier run that %s', async (...[, polls, code, writes]) => {
    const clock = fakeClock();
    const host = writingHost(clock).on(writer.argv()).prints('', writer.done);
    let left = polls;
    const lock: typeof host.lock = (name, signal) =>
      --left < 0 ? host.lock(name, signal) : Promise.resolve(undefined);
    const { failure, events } = await tryStep(writeImage, {
      host: { ...host, lock },
      clock,
      facts: writeFacts(),
    });
    expect((failure as AgentError | undefined)?.code).toBe(code);
    const status = 'a command of an earlier run still writes to /dev/sda';
    expect(events).toContainEqual(expect.objectContaining({ status }));
    expect(ran(host)).toHaveLength(writes);
  });

  it('runs the writer under a lock of its own', async () => {
    const host = writingHost().on(writer.argv()).prints('', writer.done);
    await runStep(writeImage, { host, facts: writeFacts() });
    const [call] = host.calls.filter(({ argv }) => argv[0] === 'coreos-installer');
    expect(call?.underLock).toMatch(/^bootwright-disk-[\d-]+-writer$/);
  });
});

describe('image/write', () => {
  it('tries three times, makes the disk unbootable after each failure and restarts progress', async () => {
    const cut = `${writer.read(7)}${writer.read(40)}\nError: decoding\n\nCaused by:\n    end of file before message length reached\n`;
    const host = writingHost()
      .on(writer.argv())
      .inTurn({ exitCode: 1, stderr: cut }, { exitCode: 1, stderr: cut }, { stderr: writer.done });
    const { events, progress } = await runStep(writeImage, { host, facts: writeFacts() });
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

  it('does not wipe a disk that the writer found busy', async () => {
    const busy =
      'Partitions in use on /dev/sda:\n    /dev/sda1 mounted on /x\nError: checking for exclusive access to /dev/sda\n\nCaused by:\n    found busy partitions\n';
    const host = writingHost().on(writer.argv()).fails(1, busy);
    const { failure } = await tryStep(writeImage, { host, facts: writeFacts() });
    expect(failure).toMatchObject({ code: 'disk.busy', kind: 'host' });
    expect(ran(host)).toEqual([writer.argv(), writer.argv(), writer.argv()]);
  });

  it('wipes bootable partitions within 2.4 s when the run is stopped', async () => {
    const stop = new AbortController();
    const disks = disk.lsblk(
      ['EFI-SYSTEM', 'boot', 'root'].map((label, index) => part(index + 2, label, `A${index}`)),
    );
    const host = writingHost().on(['lsblk', rest]).prints(disks);
    host.on(['wipefs', rest]).succeeds();
    host.on(['coreos-installer', rest]).answers(() => {
      stop.abort(new Error('stopped'));
      return { exitCode: 1, stderr: writer.read(50) };
    });
    host.on(tableArgv('/dev/sda')).prints(keptTable);
    const config = { image: { writerArgs: ['--save-partindex', '5'] } };
    await tryStep(writeImage, { config, host, facts: keepingFacts(), signal: stop.signal });
    const [written, ...undo] = host.calls.slice(-5);
    expect([written, ...undo].map((call) => call?.argv[0])).toEqual([
      ...['coreos-installer', 'lsblk', 'wipefs', 'lsblk', 'wipefs'],
    ]);
    expect(undo.reduce((sum, { limit }) => sum + limit, 0)).toBe(2400);
  });

  it.each([
    ['an argument', ['--save-partlabel', 'data'], []],
    [
      'a configuration file',
      ['--config-file', '/opt/writer.yaml'],
      ['--config-file', '/opt/writer.yaml'],
    ],
  ])('keeps partitions saved by %s and wipes only bootable ones', async (_what, args, others) => {
    const disks = disk.lsblk([
      part(2, 'EFI-SYSTEM', 'AA'),
      part(3, 'boot', 'BB'),
      part(4, 'boot', ''),
      part(5, 'data', 'CC'),
      part(6, 'boot', '9000-UUID'),
    ]);
    const host = writingHost()
      .withFile('/opt/writer.yaml', 'save-partlabel: [data]\n')
      .on(tableArgv('/dev/sda'))
      .prints(keptTable)
      .on(writer.argv(...others, '--save-partindex', '5,6'))
      .fails(1, `${writer.read(50)}Error: x\n`)
      .on(['lsblk', rest])
      .prints(disks)
      .on(['wipefs', '--all', '--force', rest])
      .succeeds();
    await tryStep(writeImage, {
      config: { image: { writerArgs: args } },
      host,
      facts: keepingFacts(),
    });
    const wiped = host.ran.filter(([program]) => program === 'wipefs').map((words) => words.at(-1));
    expect(new Set(wiped)).toEqual(new Set(['/dev/sda2', '/dev/sda3']));
    expect(ran(host)).not.toContainEqual(disk.zero);
  });

  it('wipes nothing when a configuration file keeps partitions since the disk was found', async () => {
    const host = writingHost()
      .withFile('/opt/writer.yaml', 'save-partlabel: [data]\n')
      .on(tableArgv('/dev/sda'))
      .prints(keptTable)
      .on(['lsblk', rest])
      .prints(disk.lsblk([part(3, 'boot', 'BB')]))
      .on(writer.argv('--config-file', '/opt/writer.yaml'))
      .fails(1, `${writer.read(50)}Error: x\n`);
    const config = { image: { writerArgs: ['--config-file', '/opt/writer.yaml'] } };
    const { failure, notes } = await tryStep(writeImage, { config, host, facts: writeFacts() });
    expect([failure, notes]).toMatchObject([{ code: 'image.writer-failed' }, []]);
    expect(ran(host).at(-1)?.[0]).toBe('coreos-installer');
  });

  it.each([['is gone', '3', writingHost(), sfdiskOutput([3, 'boot', 129])]])(
    'writes nothing when a kept partition %s',
    async (...[, number, host, table]) => {
      host.on(tableArgv('/dev/sda')).prints(table);
      const config = { image: { writerArgs: ['--save-partindex', number] } };
      const { failure } = await tryStep(writeImage, { config, host, facts: keepingFacts() });
      expect(failure).toMatchObject({ code: 'disk.keep-changed' });
      expect(ran(host)).toEqual([tableArgv('/dev/sda')]);
    },
  );

  it('makes the disk unbootable within 2.4 s when the run is stopped', async () => {
    const clock = fakeClock({ auto: false });
    const run = new AbortController();
    const host = writingHost(clock).on(writer.argv()).hangs(writer.read(60));
    const ending = tryStep(writeImage, { host, clock, facts: writeFacts(), signal: run.signal });
    await clock.advance(1000);
    run.abort(new Error('stopped'));
    await ending;
    expect(ran(host)).toEqual([writer.argv(), disk.zero]);
    const undo = host.calls.slice(-2);
    expect(undo.map(({ argv: [program] }) => program)).toEqual(['lsblk', 'dd']);
    expect(undo.reduce((sum, { limit }) => sum + limit, 0)).toBe(2400);
  });

  it.each([
    ['does not write to', 1, []],
    ['does not wipe, after a failed write,', 2, [writer.argv()]],
    ['does not wipe, after its table is zeroed,', 3, [writer.argv(), disk.zero]],
  ])('%s a disk that has taken the device name', async (...[, reads, expected]) => {
    const of = (serial: string): string => disk.lsblk([], serial);
    const host = writingHost()
      .on(writer.argv())
      .fails(1, `${writer.read(50)}Error: x\n`);
    let seen = 0;
    host.on(['lsblk', rest]).answers(() => {
      seen += 1;
      return of(seen < reads ? 'S1' : 'S2');
    });
    const facts = writeFacts();
    const mine = { ...facts, disk: { ...facts.disk, serial: 'S1' } };
    const { failure } = await tryStep(writeImage, { host, facts: mine });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(ran(host)).toEqual(expected);
  });
});
