import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../config/schema.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { describeRole } from '../../engine/describe.ts';
import { Config } from '../../config/schema.ts';
import { hours } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { imageRelayFailure } from '../../ports/image-relay-failures.ts';
import type { ImageRelay, RelayOutcome, RelaySource } from '../../ports/image-relay.ts';
import type { ChosenImage } from './facts.ts';
import { write } from './write.ts';

const disk = {
  path: '/dev/sda',
  asked: '/dev/sda',
  name: 'sda',
  majorMinor: '8:0',
  sizeBytes: 120e9,
  sectorBytes: 512,
  type: 'disk',
};
const path = '/opt/install-dir/worker-h.ign';
const ignition = { path, bytes: 1, sha256: '', origin: 'service', version: '3.2.0' };
const live: ChosenImage = { kind: 'live', because: '' };
const facts = (image: ChosenImage = live) => ({ disk, ignition, image });

const argv = (...more: string[]) => [
  'coreos-installer',
  'install',
  '--insecure',
  '-i',
  path,
  ...more,
  '/dev/sda',
];
const read = (percent: number): string => `Read disk ${percent}.0 MiB/100.0 MiB (${percent}%)\n`;
const done = `${[3, 7, 12, 100, 100].map(read).join('')}Writing Ignition config\nInstall complete.\n`;

const zero = ['dd', 'if=/dev/zero', 'of=/dev/sda', 'bs=1M', 'count=1', 'oflag=direct'];
const wipe = ['wipefs', '--all', '--force', '/dev/sda'];

const hostThat = (clock = fakeClock()): FakeHost =>
  fakeHost({ clock })
    .on(zero)
    .succeeds()
    .on(wipe)
    .succeeds()
    .on(['lsblk', rest])
    .prints(lsblk())
    .on(['find', rest])
    .succeeds();

/** What lsblk prints of the install disk. */
const lsblk = (children: readonly object[] = []): string =>
  JSON.stringify({
    blockdevices: [{ name: 'sda', kname: 'sda', 'maj:min': '8:0', type: 'disk', children }],
  });

/** What was run, without the look for processes that have the disk open. */
const ran = (host: FakeHost): FakeHost['ran'] =>
  host.ran.filter(([program = '']) => !['lsblk', 'find'].includes(program));
const writerCall = (host: FakeHost): FakeHost['calls'][number] | undefined =>
  host.calls.find(({ argv: [program] }) => program === 'coreos-installer');

/** A relay that ends as told, and remembers what it was given. */
function relayEnding(outcome: Partial<RelayOutcome>) {
  const served: RelaySource[] = [];
  let closed = 0;
  const imageRelay: ImageRelay = {
    serve: (source) => {
      served.push(source);
      return Promise.resolve({
        url: 'http://127.0.0.1:4711/metal.raw.gz',
        outcome: () => ({ isAsked: true, bytes: 0, resumed: 0, ...outcome }),
        close: () => {
          closed += 1;
          return Promise.resolve();
        },
      });
    },
  };
  return { imageRelay, served, closed: () => closed };
}

describe('image/write', () => {
  it('runs the writer with nothing but the Ignition and the disk for the live image', async () => {
    const host = hostThat().on(argv()).prints('', done);
    const { value, progress } = await runStep(write, { host, facts: facts() });
    expect(ran(host)).toEqual([argv()]);
    expect(writerCall(host)?.env).toEqual({ RUST_BACKTRACE: '0' });
    expect(value).toEqual({ disk: '/dev/sda' });
    expect(progress.map(({ info, percent }) => [info, percent])).toEqual([
      ['3%', 3],
      ['7%', 7],
      ['12%', 12],
      ['100%', 100],
    ]);
  });

  it('passes further arguments and proxies on', async () => {
    const args = ['--append-karg', 'ip=eth0:dhcp'];
    const host = hostThat()
      .on(argv(...args))
      .succeeds();
    const config: ConfigInput = {
      image: { writerArgs: args },
      proxy: { https: 'http://p.example:3128' },
    };
    await runStep(write, { config, host, facts: facts() });
    expect(writerCall(host)?.env).toMatchObject({ https_proxy: 'http://p.example:3128' });
  });

  it('verifies a file again right before it is written', async () => {
    const sha256 = 'a'.repeat(64);
    const host = hostThat()
      .on(['sha256sum', '--', '/a.raw'])
      .inTurn(`${sha256}  /a.raw`, `${'b'.repeat(64)}  /a.raw`)
      .on(argv('--image-file', '/a.raw'))
      .prints('', done);
    const image: ChosenImage = { kind: 'file', path: '/a.raw', sha256, because: '' };
    expect((await runStep(write, { host, facts: facts(image) })).value.sha256).toBe(sha256);
    const { failure } = await tryStep(write, { host, facts: facts(image) });
    expect(failure).toMatchObject({ code: 'image.wrong-digest' });
    expect(host.ran.filter(([program]) => program === 'coreos-installer')).toHaveLength(1);
  });

  it('hands an image at a URL on through the relay', async () => {
    const { imageRelay, served, closed } = relayEnding({ sha256: 'a'.repeat(64) });
    const host = hostThat()
      .on(argv('--image-url', 'http://127.0.0.1:4711/metal.raw.gz'))
      .prints('', done);
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/metal.raw.gz',
      source: 'config',
      sha256: 'a'.repeat(64),
      because: '',
    };
    const url = 'https://user:s3cretpw@m.example/metal.raw.gz?sig=abc';
    const { value, events } = await runStep(write, {
      config: { image: { url } },
      host,
      facts: facts(image),
      imageRelay,
    });
    expect(JSON.stringify(events)).not.toMatch(/s3cretpw|abc/);
    expect(value.sha256).toBe('a'.repeat(64));
    expect(served).toEqual([{ url, sha256: 'a'.repeat(64) }]);
    expect(closed()).toBe(1);
  });

  it('reads the stream again for the whole address of its image', async () => {
    const location = 'https://m.example/metal.raw.gz?sig=abc';
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/metal.raw.gz',
      source: 'stream',
      because: '',
    };
    const { imageRelay, served } = relayEnding({ sha256: 'a'.repeat(64) });
    const streamOf = (address: string): string =>
      JSON.stringify({
        architectures: {
          x86_64: {
            artifacts: {
              metal: {
                formats: { raw: { disk: { location: address, sha256: 'a'.repeat(64) } } },
              },
            },
          },
        },
      });
    const host = hostThat()
      .withFile('/s.json', streamOf(location))
      .on(['uname', '-m'])
      .prints('x86_64')
      .on(['coreos-installer', rest])
      .prints('', done);
    const run = { config: { image: { stream: '/s.json' } }, host, facts: facts(image), imageRelay };
    await runStep(write, run);
    expect(served).toEqual([{ url: location }]);
    host.withFile('/s.json', streamOf('https://m.example/newer.raw.gz?sig=abc'));
    const { failure } = await tryStep(write, run);
    expect(failure).toMatchObject({ code: 'image.stream-changed' });
    expect(JSON.stringify((failure as AgentError).context)).not.toContain('abc');
  });

  it('shows no credentials among the arguments and in the words of the writer', async () => {
    const url = 'https://user:s3cretpw@m.example/a?sig=abc';
    const args = ['--image-url', url];
    const host = hostThat()
      .on(argv(...args))
      .fails(1, `Error: fetching '${url}'\n`);
    const { failure, events } = await tryStep(write, {
      config: { image: { writerArgs: args } },
      host,
      facts: facts({ kind: 'writer-args', because: '' }),
    });
    const { message, context, cause } = failure as AgentError;
    const told = [message, context, String(cause), (cause as AgentError).context, events];
    expect(JSON.stringify(told)).toContain('https://m.example/a');
    expect(JSON.stringify(told)).not.toMatch(/s3cretpw|abc/);
  });

  it.each<[string, Partial<RelayOutcome>, string]>([
    [
      'the digest is wrong',
      { failure: imageRelayFailure('image.wrong-digest', 'another sha256') },
      'image.wrong-digest',
    ],
    ['the writer did not read to the end', { bytes: 5 }, 'image.cut'],
  ])('leaves a disk that does not boot when %s', async (_, outcome, code) => {
    const { imageRelay } = relayEnding(outcome);
    const host = hostThat().on(['coreos-installer', rest]).prints('', done);
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/a',
      source: 'config',
      because: '',
    };
    const { failure } = await tryStep(write, { host, facts: facts(image), imageRelay });
    expect(failure).toMatchObject({ code, kind: 'media' });
    expect(ran(host).slice(-2)).toEqual([zero, wipe]);
  });

  it('says that the networks differ when the writer cannot reach the relay', async () => {
    const { imageRelay } = relayEnding({ isAsked: false });
    const host = hostThat()
      .on(['coreos-installer', rest])
      .fails(1, "Error: fetching 'http://127…'");
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/a',
      source: 'config',
      because: '',
    };
    const { failure } = await tryStep(write, { host, facts: facts(image), imageRelay });
    expect(failure).toMatchObject({ code: 'image.relay-unreachable' });
  });

  it('tries three times, makes the disk unbootable each time, and counts anew', async () => {
    const cut = `${read(7)}${read(40)}\nError: decoding\n\nCaused by:\n    end of file before message length reached\n`;
    const host = hostThat()
      .on(argv())
      .inTurn({ exitCode: 1, stderr: cut }, { exitCode: 1, stderr: cut }, { stderr: done });
    const { events, progress } = await runStep(write, { host, facts: facts() });
    expect(ran(host)).toEqual([argv(), zero, wipe, argv(), zero, wipe, argv()]);
    expect(
      events.flatMap((event) => (event.type === 'step.retrying' ? [event.failure.code] : [])),
    ).toEqual(['image.cut', 'image.cut']);
    expect(progress.map(({ percent }) => percent)).toEqual([7, 40, 7, 40, 3, 7, 12, 100]);
  });

  it('leaves a disk alone that the writer found busy', async () => {
    const busy =
      'Partitions in use on /dev/sda:\n    /dev/sda1 mounted on /x\nError: checking for exclusive access to /dev/sda\n\nCaused by:\n    found busy partitions\n';
    const host = hostThat().on(argv()).fails(1, busy);
    const { failure } = await tryStep(write, { host, facts: facts() });
    expect(failure).toMatchObject({ code: 'disk.busy', kind: 'host' });
    expect(ran(host)).toEqual([argv(), argv(), argv()]);
  });

  it('has two seconds and a half for partitions that boot when the run is stopped', async () => {
    const stop = new AbortController();
    const disks = lsblk(
      ['EFI-SYSTEM', 'boot', 'root'].map((partlabel, index) => ({
        name: `sda${index + 2}`,
        'maj:min': `8:${index + 2}`,
        type: 'part',
        partlabel,
      })),
    );
    const host = hostThat().on(['lsblk', rest]).prints(disks);
    host.on(['wipefs', rest]).succeeds();
    host.on(['coreos-installer', rest]).answers(() => {
      stop.abort(new Error('stopped'));
      return { exitCode: 1, stderr: read(50) };
    });
    const config = { image: { writerArgs: ['--save-partindex', '5'] } };
    await tryStep(write, { config, host, facts: facts(), signal: stop.signal });
    const undo = host.calls.slice(-3);
    expect(undo.map(({ argv: [program] }) => program)).toEqual(['lsblk', 'wipefs', 'wipefs']);
    expect(undo.reduce((sum, { limit }) => sum + limit, 0)).toBe(2500);
  });

  it('keeps partitions that are to be kept, and wipes only what boots', async () => {
    const disks = lsblk([
      { name: 'sda2', 'maj:min': '8:2', type: 'part', partlabel: 'EFI-SYSTEM' },
      { name: 'sda3', 'maj:min': '8:3', type: 'part', partlabel: 'boot' },
      { name: 'sda5', 'maj:min': '8:5', type: 'part', partlabel: 'data' },
    ]);
    const args = ['--save-partlabel', 'data'];
    const host = hostThat()
      .on(argv(...args))
      .fails(1, `${read(50)}Error: x\n`)
      .on(['lsblk', rest])
      .prints(disks)
      .on(['wipefs', '--all', '--force', rest])
      .succeeds();
    await tryStep(write, { config: { image: { writerArgs: args } }, host, facts: facts() });
    const wiped = host.ran.filter(([program]) => program === 'wipefs').map((words) => words.at(-1));
    expect(new Set(wiped)).toEqual(new Set(['/dev/sda2', '/dev/sda3']));
    expect(ran(host)).not.toContainEqual(zero);
  });

  it('makes the disk unbootable when the run is stopped in the middle', async () => {
    const clock = fakeClock({ auto: false });
    const run = new AbortController();
    const host = hostThat(clock).on(argv()).hangs(read(60));
    const ending = tryStep(write, { host, clock, facts: facts(), signal: run.signal });
    await clock.advance(1000);
    run.abort(new Error('stopped'));
    await ending;
    expect(ran(host)).toEqual([argv(), zero, wipe]);
    expect(host.calls.slice(-2).map(({ limit }) => limit)).toEqual([1500, 1000]);
  });

  it('gives up when neither the writer nor the disk moves for half an hour', async () => {
    const clock = fakeClock();
    const host = hostThat(clock).withFile('/sys/block/sda/stat', ' 1 2 3 4 5 6 700 8 9');
    host.on(argv()).hangs(read(60));
    const { failure, progress } = await tryStep(write, { host, clock, facts: facts() });
    expect(failure).toMatchObject({
      code: 'image.stalled',
      kind: 'limit',
      context: { phase: 'read' },
    });
    expect(progress.map(({ info }) => info)).toContain('60%, standing for 10 min');
    expect(ran(host)).toEqual([argv(), zero, wipe]);
  });

  it('waits for a slow disk as long as it takes sectors', async () => {
    const clock = fakeClock();
    const host = hostThat(clock);
    const slow = {
      ...host,
      readText: () => Promise.resolve(`1 2 3 4 5 6 ${clock.now()} 8 9`),
    };
    host.on(argv()).answers(async (_argv, _host, { signal }) => {
      await clock.sleep(hours(2), signal);
      return { stderr: done };
    });
    const { value } = await runStep(write, { host: slow, clock, facts: facts() });
    expect(value).toEqual({ disk: '/dev/sda' });
  });

  it.each([
    ['ends', 3, undefined, 1],
    ['does not end', Infinity, 'disk.busy', 0],
  ])(
    'waits for a writer that an earlier run left behind, and it %s',
    async (...[, looks, code, writes]) => {
      const clock = fakeClock();
      let left = looks;
      const host = hostThat(clock)
        .withFile('/proc/812/comm', 'coreos-installer\n')
        .on(['find', rest])
        .answers(() => (--left < 0 ? '' : '/proc/812/fd/7 /dev/sda\n'))
        .on(argv())
        .prints('', done);
      const { failure, events } = await tryStep(write, { host, clock, facts: facts() });
      expect((failure as AgentError | undefined)?.code).toBe(code);
      const status = '/dev/sda is open in coreos-installer (process 812)';
      expect(events).toContainEqual(expect.objectContaining({ status }));
      expect(ran(host)).toHaveLength(writes);
      if (code !== undefined) expect((failure as AgentError).message).toContain(status);
    },
  );

  it('warns when another disk holds an old system', async () => {
    const note = `${done}\nNote: detected other devices with a filesystem labeled \`boot\`:\n  - /dev/sdb3\nThe installed OS may not work correctly\n`;
    const host = hostThat().on(argv()).prints('', note);
    const { events } = await runStep(write, { host, facts: facts() });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        fields: expect.objectContaining({ devices: '/dev/sdb3' }) as object,
      }),
    );
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(write, () => ({
      host: hostThat().on(argv()).prints('', done),
      facts: facts(),
    }));
    expect.hasAssertions();
  });

  it.each<[ConfigInput['image'], string[]]>([
    [{}, []],
    [{ file: '/a.raw' }, ['--image-file', '/a.raw']],
    [{ stream: '/s.json' }, ['--image-url', 'http://127.0.0.1:<port>/<image>']],
  ])('is planned with the command that it runs: %j', (image, words) => {
    const plan = describeRole(
      { name: 'r', title: '', ladder: 'master', steps: [write] },
      Config.parse({ image }),
    );
    expect(plan.items[0]).toMatchObject({
      step: {
        commands: [[...argv().slice(0, 4), '<ignition.host.path>', ...words, '<disk.target.path>']],
      },
    });
  });
});
