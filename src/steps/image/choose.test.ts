import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { refusalsOf } from '../../engine/describe.ts';
import type { RunEvent } from '../../engine/events.ts';
import { placeholder } from '../../engine/fact.ts';
import { coreOsDisk, keptPartition, targetOf } from '../../../test/support/disk-samples.ts';
import { type Answering, fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { TargetDisk } from '../disk/facts.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { checkInputs, chooseImage, readArgumentsArgv } from './choose.ts';
import { makeFolderArgv, nmcliArgv } from './network.ts';

const disk = {
  path: '/dev/sda',
  asked: '/dev/disk/by-id/wwn-1',
  name: 'sda',
  majorMinor: '8:0',
  sizeBytes: 120e9,
  sectorBytes: 512,
  type: 'disk',
  serial: '',
  wwn: '',
  byId: [],
};
const facts = { disk };
const path = '/opt/metal.raw';
const shown = 'https://mirror.example/metal.raw';
const url = 'https://user:s3cretpw@mirror.example/metal.raw?sig=abc';

const image = Buffer.alloc(50_000);
image.write('EFI PART', 512, 'latin1');
const sha256 = createHash('sha256').update(image).digest('hex');

const streamOf = (release: string): string =>
  JSON.stringify({
    architectures: {
      x86_64: {
        artifacts: {
          metal: { release, formats: { 'raw.gz': { disk: { location: url, sha256 } } } },
        },
      },
    },
  });
const stream = streamOf('416.94.202410211619-0');

const ignition = { path: '/h.ign', bytes: 2, sha256, origin: 'the service', version: '3.2.0' };

const hex = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 4200)).toString('hex');

function hostWithFile(content: Uint8Array = image): FakeHost {
  const digest = createHash('sha256').update(content).digest('hex');
  return fakeHost()
    .withFile(path, content)
    .on(['od', rest])
    .prints(hex(content))
    .on(['sha256sum', '--', path])
    .prints(`${digest}  ${path}\n`)
    .on(['uname', '-m'])
    .prints('x86_64\n');
}

/** A host with an image on its live medium. */
const onMedium = (): FakeHost =>
  hostWithFile().withFile('/run/coreos-installer/osmet/metal-x86_64.osmet', '');

const eth0 = '[connection]\nid=eth0\ntype=ethernet\n';

/** Notes of a level, with their fields. */
const notesAt = (wanted: 'info' | 'warn', events: readonly RunEvent[]): readonly object[] =>
  events.flatMap((event) => {
    if (event.type !== 'note' || event.level !== wanted) return [];
    return [{ message: event.message, ...event.fields }];
  });

const chosen = async (input: ConfigInput['image'], more: object = {}) =>
  (await runStep(chooseImage, { config: { image: input }, facts, host: fakeHost(), ...more }))
    .value;

describe('image/choose', () => {
  it.each([
    ['are valid', '600 eth0.nmconnection\n', undefined],
    [
      'are readable by others',
      '644 eth0.nmconnection\n',
      /^\/etc\/network: eth0\.nmconnection: its mode is 644, not 600$/,
    ],
    [
      'have a special bit',
      '4600 eth0.nmconnection\n',
      /^\/etc\/network: eth0\.nmconnection: its mode is 4600, not 600$/,
    ],
    [
      'have special bits and are readable by others',
      '6004 eth0.nmconnection\n',
      /^\/etc\/network: eth0\.nmconnection: its mode is 6004, not 600$/,
    ],
    ['include another file', '600 eth0.nmconnection\n600 README\n', /^\/etc\/network: README: /],
    ['are absent', '', /^\/etc\/network: there is no keyfile$/],
  ])('checks keyfiles that %s', async (_, printed, message) => {
    const keyfile = eth0;
    const host = hostWithFile()
      .withFile('/etc/network', '')
      .withFile('/etc/network/eth0.nmconnection', keyfile)
      .on(['find', '-L', '/etc/network', rest])
      .prints(printed)
      .on(nmcliArgv)
      .prints(keyfile);
    const config: ConfigInput = {
      image: { file: path, writerArgs: ['--copy-network', '--network-dir', '/etc/network'] },
      network: { keyfiles: '/etc/network' },
    };
    const { failure } = await tryStep(chooseImage, { config, facts, host });
    if (message === undefined) expect(failure).toBeUndefined();
    else {
      expect(failure).toMatchObject({
        code: 'network.bad-keyfile',
        message: expect.stringMatching(message) as string,
        context: { folder: '/etc/network', problems: 1 },
      });
    }
  });

  it.each<readonly [string, (answer: Answering) => FakeHost, string]>([
    [
      'prints a warning',
      (nmcli) => nmcli.prints(eth0, 'the MTU is odd\n'),
      'warn: eth0.nmconnection: the MTU is odd',
    ],
    [
      'is missing',
      (nmcli) => nmcli.isMissing(),
      'warn: only the form of the keyfiles is checked: nmcli is not on the host',
    ],
  ])('adds a note when nmcli %s', async (_, answer, note) => {
    const host = hostWithFile()
      .withFile('/etc/network/eth0.nmconnection', eth0)
      .on(['find', '-L', '/etc/network', rest])
      .prints('600 eth0.nmconnection\n');
    const config: ConfigInput = { image: { file: path }, network: { keyfiles: '/etc/network' } };
    const { notes } = await runStep(chooseImage, {
      config,
      facts,
      host: answer(host.on(nmcliArgv)),
    });
    expect(notes).toContain(note);
    expect(host.calls.find(({ argv }) => argv === nmcliArgv)?.input).toBe(eth0);
  });

  const withAddress = `${eth0}[ipv4]\naddress1=10.0.0.300/24\n`;

  it.each<readonly [string, (answer: Answering) => FakeHost, string, string]>([
    [
      'does not write',
      (nmcli) => nmcli.fails(1, 'Error: Error writing connection: no address'),
      'network.bad-keyfile',
      '/etc/network: eth0.nmconnection: no address',
    ],
    [
      'does not read',
      (nmcli) => nmcli.fails(1, 'Warning: old\nError: no address'),
      'network.bad-keyfile',
      '/etc/network: eth0.nmconnection: Warning: old Error: no address',
    ],
    [
      'reads without its address',
      (nmcli) => nmcli.prints(eth0),
      'network.bad-keyfile',
      '/etc/network: eth0.nmconnection: NetworkManager takes ipv4.address1 in part or not at all',
    ],
    [
      'cannot judge',
      (nmcli) => nmcli.fails(5, 'no memory'),
      'command.failed',
      'nmcli ended with exit code 5: no memory',
    ],
  ])('refuses a keyfile that nmcli %s', async (...[, answer, code, message]) => {
    const host = hostWithFile()
      .withFile('/etc/network/eth0.nmconnection', withAddress)
      .on(['find', '-L', '/etc/network', rest])
      .prints('600 eth0.nmconnection\n');
    const { failure } = await tryStep(chooseImage, {
      config: { image: { file: path }, network: { keyfiles: '/etc/network' } },
      facts,
      host: answer(host.on(nmcliArgv)),
    });
    expect(failure).toMatchObject({ code, message });
  });

  it('checks keyfiles again in checkInputs', async () => {
    const host = fakeHost()
      .on(['find', '-L', '/etc/network', rest])
      .prints('644 eth0.nmconnection\n')
      .on(nmcliArgv)
      .prints(eth0);
    const { failure } = await tryStep(checkInputs, {
      config: { network: { keyfiles: '/etc/network' } },
      host,
      facts: { disk: undefined, ignition },
    });
    expect(failure).toMatchObject({ code: 'network.bad-keyfile' });
  });

  const nmstate: ConfigInput = {
    image: { file: path, writerArgs: ['--copy-network', '--network-dir=/opt/install-dir/network'] },
    network: { nmstate: '/opt/host.yaml' },
  };
  const nmcliTakes = (host: FakeHost): FakeHost => host.on(nmcliArgv).prints(eth0);
  const gc = ['nmstatectl', 'gc', '/opt/host.yaml'];
  const printed = (text: string): string =>
    `---\nNetworkManager:\n- - eth0.nmconnection\n  - |\n${text.replaceAll(/^(?=.)/gm, '    ')}`;
  const keyfile = eth0;

  it.each<[what: string, prepare: (host: FakeHost) => FakeHost, code?: string, message?: string]>([
    ['is valid', (host) => nmcliTakes(host.on(gc).prints(printed(keyfile)))],
    ['lacks nmstatectl', (host) => host.on(gc).isMissing(), 'network.no-nmstatectl'],
    [
      'is invalid',
      (host) => host.on(gc).fails(1, 'NmstateError: InvalidArgument'),
      'network.bad-nmstate',
    ],
    ['yields no keyfiles', (host) => host.on(gc).prints('usage'), 'network.bad-nmstate'],
    [
      'yields keyfiles that NetworkManager refuses',
      (host) => host.on(gc).prints(printed(keyfile)).on(nmcliArgv).fails(1, 'Error: no'),
      'network.bad-nmstate',
      '/opt/host.yaml: eth0.nmconnection: no',
    ],
  ])('checks nmstate that %s without writing keyfiles', async (_what, prepare, code, message) => {
    const host = prepare(hostWithFile());
    const { failure } = await tryStep(chooseImage, { config: nmstate, facts, host });
    if (code === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ code, context: { path: '/opt/host.yaml' } });
    if (message !== undefined) expect(failure).toMatchObject({ message });
    expect(host.textOf('/opt/install-dir/network/eth0.nmconnection')).toBeUndefined();
  });

  it('passes on a failure of nmstatectl that says nothing about the file', async () => {
    const late = hostFailure('command.timed-out', 'nmstatectl did not end');
    const host = hostWithFile()
      .on(gc)
      .answers(() => Promise.reject(late));
    const { failure } = await tryStep(chooseImage, { config: nmstate, facts, host });
    expect(failure).toBe(late);
  });

  it('passes on warnings of nmstatectl', async () => {
    const host = nmcliTakes(hostWithFile())
      .on(gc)
      .prints(
        printed(keyfile),
        '[2026-11-28T05:04:55Z INFO  nmstatectl] Nmstate version: 2.2.57, not [a WARN b] c\n[2026-11-28T05:04:55Z WARN  nmstate::iface] Unsupported interface type ethernett\n',
      );
    const { notes } = await runStep(chooseImage, { config: nmstate, facts, host });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([
      'warn: /opt/host.yaml: Unsupported interface type ethernett',
    ]);
  });

  it('hides passwords of the nmstate file that nmstatectl may print', async () => {
    const state =
      '802.1x: { identity: a, private-key-password : 20261128 }\n{"psk":"planted", "mka-cak":\n\'0a1b2c3d\'}';
    const host = hostWithFile().withFile('/opt/host.yaml', state).on(gc);
    const stderr = 'invalid type: integer `20261128`, expected a string';
    const { failure, hidden } = await tryStep(chooseImage, {
      config: nmstate,
      facts,
      host: host.fails(1, stderr),
    });
    expect(failure).toMatchObject({ code: 'network.bad-nmstate' });
    expect(hidden).toEqual(['20261128', 'planted', '0a1b2c3d']);
  });

  describe('the keyfiles of nmstate in checkInputs', () => {
    const folder = '/opt/install-dir/network';
    const inputs = { disk: undefined, ignition };
    const hostWithOld = (): FakeHost =>
      fakeHost()
        .withFile(`${folder}/old.nmconnection`, 'old')
        .on(gc)
        .prints(printed(keyfile))
        .on(makeFolderArgv)
        .succeeds();

    it('are checked, and then written to a private folder, from which others are removed', async () => {
      const known = nmcliTakes(hostWithOld()).withFile(`${folder}/eth0.nmconnection`, 'old');
      const done: string[] = [];
      const host: Host = {
        ...known,
        exec: (argv, options) => {
          done.push(argv.join(' '));
          return known.exec(argv, options);
        },
        remove: (path, signal) => {
          done.push(`remove ${path}`);
          return known.remove(path, signal);
        },
        writeFile: (path, content, options) => {
          done.push(`write ${path}`);
          return known.writeFile(path, content, options);
        },
      };
      await runStep(checkInputs, { config: nmstate, host, facts: inputs });
      expect(done).toEqual([
        gc.join(' '),
        nmcliArgv.join(' '),
        `install --directory --mode=0700 ${folder}`,
        `remove ${folder}/old.nmconnection`,
        `write ${folder}/eth0.nmconnection`,
      ]);
      expect(known.textOf(`${folder}/eth0.nmconnection`)).toBe(keyfile);
      expect(known.files.get(`${folder}/eth0.nmconnection`)?.mode).toBe(0o600);
      expect(known.textOf(`${folder}/old.nmconnection`)).toBeUndefined();
    });

    it('leave the folder unchanged when NetworkManager refuses them', async () => {
      const host = hostWithOld().on(nmcliArgv).fails(1, 'Error: no');
      const { failure } = await tryStep(checkInputs, { config: nmstate, host, facts: inputs });
      expect(failure).toMatchObject({ code: 'network.bad-nmstate' });
      expect([...host.files.keys()]).toEqual([`${folder}/old.nmconnection`]);
    });
  });

  const kept = { ...targetOf(coreOsDisk('sda')), kept: [keptPartition(5, 'data', 25_000)] };
  const wiping = JSON.stringify({
    ignition: { version: '3.2.0' },
    storage: { disks: [{ device: '/dev/sda', wipeTable: true }] },
  });

  it.each([
    ['of the host', [], '/h.ign'],
    ['given to coreos-installer', ['--ignition-file=/own.ign'], '/own.ign'],
  ])('refuses Ignition %s that would wipe kept data', async (_, writerArgs, at) => {
    const host = fakeHost().withFile('/h.ign', '{"ignition":{"version":"3.2.0"}}');
    const check = () =>
      tryStep(checkInputs, {
        config: { image: { writerArgs } },
        host,
        facts: { disk: kept, ignition },
      });
    host.withFile('/own.ign', '{"ignition":{"version":"3.2.0"}}');
    expect((await check()).failure).toBeUndefined();
    host.withFile(at, wiping);
    expect((await check()).failure).toMatchObject({ code: 'disk.keep-wiped' });
    const none = { disk: targetOf(coreOsDisk('sda')), ignition };
    const free = { config: { image: { writerArgs } }, host, facts: none };
    expect((await tryStep(checkInputs, free)).failure).toBeUndefined();
  });

  const hardwareClock = '/sys/class/rtc/rtc0/since_epoch';
  const start = Date.parse('2026-11-29T10:00:00Z');
  const eventsWithClock = async (host: FakeHost): Promise<readonly RunEvent[]> => {
    const facts = { disk: undefined, ignition };
    return (await runStep(checkInputs, { host, clock: fakeClock({ start }), facts })).events;
  };
  const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

  it.each<[string, string, readonly string[], string | undefined]>([
    ['refuses Ignition of the host with another digest', sha256, [], 'the service'],
    ['refuses Ignition of the operator with another digest', sha256, ['-i/own.ign'], '/own.ign'],
    ['accepts Ignition of the host with the digest', digestOf(wiping), [], undefined],
    ['accepts Ignition of the operator with the digest', digestOf('{}'), ['-i/own.ign'], undefined],
  ])('%s of --ignition-hash', async (...[, hash, own, refused]) => {
    const config = { image: { writerArgs: [...own, '--ignition-hash', `sha256-${hash}`] } };
    const host = fakeHost().withFile('/h.ign', wiping).withFile('/own.ign', '{}');
    const disk = targetOf(coreOsDisk('sda'));
    const { failure } = await tryStep(checkInputs, { config, host, facts: { disk, ignition } });
    if (refused === undefined) expect(failure).toBeUndefined();
    else {
      const context = { origin: refused, expected: `sha256-${hash}` };
      expect(failure).toMatchObject({ code: 'ignition.wrong-digest', context });
    }
  });

  it.each<[string, number, string | undefined]>([
    ['an hour and a minute behind', -61, '2026-11-29T08:59:00.000Z'],
    ['an hour and a minute ahead', 61, '2026-11-29T11:01:00.000Z'],
    ['an hour behind', -60, undefined],
    ['an hour ahead', 60, undefined],
  ])('warns of a hardware clock only if it is more than an hour off: %s', async (...row) => {
    const [, off, said] = row;
    const text = `${(start + minutes(off)) / 1000}\n`;
    const events = await eventsWithClock(fakeHost().withFile(hardwareClock, text));
    const warning = {
      message: `the hardware clock says ${said}, and the clock of this host 2026-11-29T10:00:00.000Z`,
      hint: expect.stringContaining('hwclock --systohc') as string,
    };
    expect(notesAt('warn', events)).toEqual(said === undefined ? [] : [warning]);
  });

  it.each([undefined, '', 'none 1', '1 none'])(
    'does not warn of a hardware clock that cannot be read: %j',
    async (text) => {
      const host = fakeHost();
      if (text !== undefined) host.withFile(hardwareClock, text);
      expect(notesAt('warn', await eventsWithClock(host))).toEqual([]);
    },
  );

  describe('the image for the running root in checkInputs', () => {
    const existingRoot = 'quay.example/os@sha256:1';
    const argv = [
      ...['skopeo', 'inspect', '--no-tags', '--authfile', '/root/.docker/config.json'],
      `docker://${existingRoot}`,
    ];
    const inspected = '{"Digest":"sha256:1","Architecture":"amd64"}';

    it.each<readonly [string, (answer: Answering) => FakeHost, string | undefined]>([
      ['is in its registry', (skopeo) => skopeo.prints(inspected), undefined],
      ['may not be pulled', (skopeo) => skopeo.fails(1, 'unauthorized'), 'command.failed'],
      ['cannot be read', (skopeo) => skopeo.prints('{}'), 'os.image-unreachable'],
    ])('is inspected with the pull secret of the host: one that %s', async (...row) => {
      const [, answer, code] = row;
      const host = answer(fakeHost().on(argv));
      const { failure } = await tryStep(checkInputs, {
        config: { image: { existingRoot } },
        host,
        facts: { disk: undefined, ignition },
      });
      if (code === undefined) expect(failure).toBeUndefined();
      else expect(failure).toMatchObject({ code });
      expect(host.ran).toContainEqual(argv);
    });
  });

  it('chooses the osmet image of the live medium without running a command', async () => {
    const host = fakeHost().withFile('/run/coreos-installer/osmet/metal-x86_64.osmet', '');
    expect(await chosen({}, { host })).toMatchObject({
      kind: 'live',
      because: 'no other image is configured, and the live medium has metal-x86_64.osmet',
    });
    expect(host.ran).toEqual([]);
  });

  it.each([
    [512, '/run/media/iso/images/metal.x86_64.raw.gz'],
    [4096, '/run/media/iso/images/metal4k.x86_64.raw.gz'],
  ])('chooses the file for sectors of %i bytes on the medium', async (sectorBytes, expected) => {
    const host = fakeHost()
      .withFile('/run/media/iso/images/metal.x86_64.raw.gz', '')
      .withFile('/run/media/iso/images/metal4k.x86_64.raw.gz', '')
      .withFile('/run/media/iso/images/ignition.img', '')
      .on(['od', rest])
      .prints('1f8b')
      .on(['stat', rest])
      .prints('2');
    const value = await chosen({}, { host, facts: { disk: { ...disk, sectorBytes } } });
    expect(value).toMatchObject({ kind: 'file', path: expected });
  });

  it.each([
    ['metal.raw', 'file'],
    ['metal.RAW.xz', 'file'],
    ['metal.raw.zst', 'file'],
    ['metal.raw.gz.sig', 'live'],
    ['metal.raw.sha256', 'live'],
    ['metal4k.raw', 'live'],
    ['rootfs.img', 'live'],
  ])('takes only images from the live medium: %s (%s)', async (name, kind) => {
    const host = hostWithFile().withFile(`/run/media/iso/coreos/${name}`, '');
    expect((await chosen({}, { host })).kind).toBe(kind);
  });

  it('leaves the choice to the writer with a warning when nothing is found', async () => {
    const { value, events } = await runStep(chooseImage, { facts, host: fakeHost() });
    expect(value.kind).toBe('live');
    expect(notesAt('warn', events)).toEqual([
      {
        message: 'no image on the live medium: coreos-installer will look for one itself',
        hint: 'set image.url, image.file or image.stream',
      },
    ]);
  });

  it('fails when the source is live and the medium has no image', async () => {
    await expect(chosen({ source: 'live' })).rejects.toMatchObject({
      code: 'image.no-live-image',
      context: { disk: '/dev/sda', sectorBytes: 512 },
    });
  });

  it.each<[string, ConfigInput['image'], object, object]>([
    [
      'a file',
      { file: path, sha256 },
      { kind: 'file', path, sha256 },
      { source: 'file', image: path, because: 'image.file is set' },
    ],
    [
      'a URL',
      { url, sha256 },
      { kind: 'url', url: shown, source: 'config', sha256 },
      { source: 'url', image: shown, because: 'image.url is set' },
    ],
    [
      'a URL without a digest',
      { url },
      { kind: 'url', url: shown, source: 'config', sha256: undefined },
      { source: 'url', image: shown, because: 'image.url is set' },
    ],
    [
      'an image of the writer arguments',
      { file: '/opt/none.raw', writerArgs: ['--image-file', path] },
      { kind: 'writer-args' },
      {
        source: 'writer-args',
        because: '--image-file is among the coreos-installer arguments',
      },
    ],
    [
      'the live medium',
      { source: 'live' },
      { kind: 'live' },
      { source: 'live', because: 'image.source is live, and the live medium has m.osmet' },
    ],
  ])('chooses %s and logs it with the reason', async (...[, input, found, fields]) => {
    const host = hostWithFile().withFile('/run/coreos-installer/osmet/m.osmet', '');
    const web = fakeWeb().with(url, image);
    const config = { image: input };
    const { value, events } = await runStep(chooseImage, { config, facts, host, web });
    const { because } = fields as { because: string };
    expect(value).toEqual({ ...found, because });
    const message = 'the operating system image is chosen';
    expect(notesAt('info', events)).toEqual([{ message, ...fields }]);
  });

  it.each<[string, ConfigInput['image']]>([
    ['image.url', { url: 'http://a.example/i.raw' }],
    ['the writer arguments', { writerArgs: ['--image-url', 'http://a.example/i.raw'] }],
    ['a configuration file of the writer', { writerArgs: ['--config-file', '/opt/writer.yaml'] }],
  ])('warns of an image that nothing verifies, or refuses it: one of %s', async (_, input) => {
    const host = hostWithFile()
      .withFile('/opt/writer.yaml', 'image-url: http://a.example/i.raw')
      .on(['coreos-installer', rest])
      .fails(1, 'Error: getting sector size of /dev/null');
    const web = fakeWeb().with('http://a.example/i.raw', image);
    const choose = (allowUnverified: boolean) =>
      tryStep(chooseImage, { config: { image: { ...input, allowUnverified } }, facts, host, web });
    expect((await choose(false)).failure).toMatchObject({ code: 'image.unverified' });
    const allowed = await choose(true);
    expect(allowed.failure).toBeUndefined();
    expect(notesAt('warn', allowed.events)).toEqual([
      {
        message:
          'nothing verifies the image: http://a.example/i.raw is plain http, and image.sha256 is not set',
        hint: 'set image.sha256, or take the image by https',
      },
    ]);
  });

  it.each<[string, ConfigInput['image'], string]>([
    ['is missing', { file: '/opt/none.raw' }, 'image.file-missing'],
    ['has another digest', { file: path, sha256: 'a'.repeat(64) }, 'image.wrong-digest'],
  ])('refuses an image file that %s', async (_, input, code) => {
    const host = hostWithFile();
    const { failure } = await tryStep(chooseImage, { config: { image: input }, facts, host });
    expect(failure).toMatchObject({ code });
  });

  describe('what coreos-installer opens itself', () => {
    const tooLarge = Buffer.from(image);
    tooLarge.writeBigUInt64LE(BigInt(disk.sizeBytes) / 512n, 512 + 32);
    const valid = '{"ignition":{"version":"3.2.0"}}';
    const other = `sha256-${'a'.repeat(64)}`;

    it.each<[string, string[], object]>([
      [
        'a missing image file',
        ['--image-file=/opt/none.raw'],
        { code: 'image.file-missing', context: { path: '/opt/none.raw' } },
      ],
      [
        'an image file that does not fit on the disk',
        ['--image-file', path],
        { code: 'image.too-large', context: { origin: path, diskBytes: disk.sizeBytes } },
      ],
      [
        'an image by URL that does not fit on the disk',
        ['--image-url', url],
        { code: 'image.too-large', context: { origin: shown } },
      ],
      ['a missing image by URL', ['--image-url=https://b.example/i.raw'], { code: 'web.refused' }],
      [
        'an image of a stream that does not fit on the disk',
        ['--stream=stable'],
        { code: 'image.too-large', context: { origin: shown } },
      ],
      ['a missing stream', ['--stream', 'testing'], { code: 'web.refused' }],
      [
        'a missing Ignition config',
        ['--ignition-file=/opt/none.ign'],
        { code: 'ignition.file-not-found', context: { path: '/opt/none.ign' } },
      ],
      ['an invalid Ignition config', ['-i', '/bad.ign'], { code: 'ignition.not-json' }],
      [
        'an Ignition config with another digest',
        ['--ignition-file=/own.ign', '--ignition-hash', other],
        { code: 'ignition.wrong-digest', context: { origin: '/own.ign', expected: other } },
      ],
      [
        'a missing folder of network settings',
        ['--copy-network', '--network-dir=/opt/network'],
        { code: 'image.writer-config', context: { path: '/opt/network' } },
      ],
      [
        'a missing folder of the settings of NetworkManager',
        ['--copy-network'],
        {
          code: 'image.writer-config',
          context: { path: '/etc/NetworkManager/system-connections' },
        },
      ],
    ])('is refused before the loss of data: %s', async (_, writerArgs, expected) => {
      const host = hostWithFile(tooLarge).withFile('/bad.ign', 'x').withFile('/own.ign', valid);
      const streams = 'https://builds.coreos.fedoraproject.org/streams';
      const web = fakeWeb().with(url, tooLarge).with(`${streams}/stable.json`, stream);
      const { failure } = await tryStep(chooseImage, {
        config: { image: { writerArgs } },
        facts,
        host,
        web,
      });
      expect(failure).toMatchObject(expected);
    });

    it.each<[string, string[], [number, string], object]>([
      [
        'an option that it does not know',
        ['--append-kargs=a'],
        [2, "error: unexpected argument '--append-kargs' found\n\nUsage: x\n"],
        {
          code: 'image.writer-arguments',
          message: "unexpected argument '--append-kargs' found",
        },
      ],
      [
        'a value of another type in its configuration file',
        ['-c', '/opt/writer.yaml'],
        [
          1,
          'Error: parsing config file /opt/writer.yaml\n\nCaused by:\n    append-karg: invalid type: string "a", expected a sequence at line 1 column 14\n',
        ],
        {
          code: 'image.writer-config',
          message:
            '/opt/writer.yaml: append-karg: invalid type: string "a", expected a sequence at line 1 column 14',
        },
      ],
      [
        'an option that its configuration file excludes',
        ['-c', '/opt/writer.yaml'],
        [
          1,
          "Error: reprocessing command-line arguments\n\nCaused by:\n    error: the argument '--stream <NAME>' cannot be used with '--image-url <URL>'\n",
        ],
        {
          code: 'image.writer-config',
          message:
            "/opt/writer.yaml: error: the argument '--stream <NAME>' cannot be used with '--image-url <URL>'",
        },
      ],
      [
        'nothing that it reads',
        ['-c', '/opt/writer.yaml', '--newer'],
        [
          1,
          'Error: getting sector size of /dev/null\n\nCaused by:\n    "/dev/null" is not a block\n',
        ],
        {},
      ],
    ])('coreos-installer refuses before the loss of data: %s', async (...row) => {
      const [, writerArgs, [exitCode, stderr], expected] = row;
      const host = hostWithFile()
        .withFile('/opt/writer.yaml', 'append-karg: a\n')
        .on(readArgumentsArgv(writerArgs))
        .fails(exitCode, stderr);
      const config = { image: { writerArgs } };
      const { failure } = await tryStep(chooseImage, { config, facts, host });
      expect(failure ?? {}).toMatchObject(expected);
      expect(failure === undefined).toBe(Object.keys(expected).length === 0);
    });

    it('is accepted where it fits, and secrets of its Ignition config are hidden', async () => {
      const own = JSON.stringify({
        ignition: { version: '3.2.0' },
        passwd: { users: [{ name: 'core', passwordHash: 'planted-hash' }] },
      });
      const host = hostWithFile()
        .withFile('/own.ign', own)
        .withFile('/etc/NetworkManager/system-connections/a.nmconnection', '');
      const web = fakeWeb().with('https://m.example/s/next.json', stream).with(url, image);
      const base = ['--stream', 'next', '--stream-base-url', 'https://m.example/s/'];
      const writerArgs = [...base, '--ignition-file=/own.ign', '--copy-network'];
      const config = { image: { writerArgs } };
      const { failure, hidden } = await tryStep(chooseImage, { config, facts, host, web });
      expect(failure).toBeUndefined();
      expect(web.opened.map((one) => one.url)).toEqual(['https://m.example/s/next.json', url]);
      expect(hidden).toEqual(['planted-hash']);
    });
  });

  it('refuses a configuration without a usable source before a run', () => {
    const role = { name: 'worker', title: '', ladder: 'worker', steps: [chooseImage] } as const;
    const codesFor = (input: ConfigInput['image']) =>
      refusalsOf(role, Config.parse({ image: input })).map(({ code }) => code);
    expect(codesFor({ source: 'url' })).toEqual(['image.not-configured']);
    expect(codesFor({ file: path })).toEqual([]);
  });

  it.each<[ConfigInput, readonly string[], readonly string[]]>([
    [{}, ['find …', 'od …', 'sha256sum …', 'uname …'], []],
    [
      { network: { keyfiles: '/etc/network' } },
      ['find …', 'od …', 'sha256sum …', 'uname …'],
      [
        String.raw`find -L /etc/network -maxdepth 1 -type f -printf %m %f\n`,
        'nmcli --offline connection modify connection.autoconnect yes',
      ],
    ],
    [
      { network: { nmstate: '/opt/host.yaml' } },
      ['nmstatectl gc /opt/host.yaml', 'find …', 'od …', 'sha256sum …', 'uname …'],
      [
        'nmstatectl gc /opt/host.yaml',
        'nmcli --offline connection modify connection.autoconnect yes',
        'install --directory --mode=0700 /opt/install-dir/network',
      ],
    ],
    [
      { image: { existingRoot: 'quay.example/os:1' } },
      ['find …', 'od …', 'sha256sum …', 'uname …'],
      ['skopeo inspect --no-tags --authfile /root/.docker/config.json docker://quay.example/os:1'],
    ],
  ])('previews the commands for %j', (input, choosing, checking) => {
    const config = Config.parse(input);
    const needs = { disk: placeholder(TargetDisk), ignition: placeholder(HostIgnition) };
    const lines = (argvs: readonly (readonly string[])[] = []) =>
      argvs.map((argv) => argv.map(String).join(' '));
    expect(lines(chooseImage.preview?.(config, needs))).toEqual(choosing);
    expect(lines(checkInputs.preview?.(config, needs))).toEqual(checking);
  });

  it.each<[string, Uint8Array, string]>([
    ['a web page', Buffer.from('<html><body>404</body></html>'), 'image.not-an-image'],
    [
      'an image for other sectors',
      Buffer.concat([Buffer.alloc(3584), image]),
      'image.wrong-sector-size',
    ],
  ])('refuses a file and a URL with %s', async (_, content, code) => {
    const file = tryStep(chooseImage, {
      config: { image: { file: path } },
      facts,
      host: hostWithFile(content),
    });
    const page = tryStep(chooseImage, {
      config: { image: { url } },
      facts,
      web: fakeWeb().with(url, content),
    });
    expect((await file).failure).toMatchObject({ code, kind: 'input' });
    const { failure, events } = await page;
    expect(failure).toMatchObject({ code, kind: 'input', context: { origin: shown } });
    const { message, context } = failure as AgentError;
    expect(JSON.stringify([message, context, events])).not.toMatch(/s3cretpw|abc/);
  });

  it('reads only the start of a URL and keeps its credentials and query out of the log', async () => {
    const web = fakeWeb().with(url, image);
    const { value, events } = await runStep(chooseImage, {
      config: { image: { url } },
      facts,
      web,
    });
    expect(value).toMatchObject({ kind: 'url', url: shown, source: 'config' });
    expect(web.opened).toMatchObject([{ range: [0, 40 * 1024 - 1] }]);
    expect(JSON.stringify([value, events])).not.toMatch(/s3cretpw|abc/);
  });

  it.each<[string, object, readonly boolean[]]>([
    ['has no digest', { image: { url } }, [true]],
    ['has a digest', { image: { url, sha256 } }, [false]],
    ['may be unverified', { image: { url, allowUnverified: true } }, [false]],
    [
      'comes with an inventory service',
      { image: { url }, service: { url: 'https://svc' } },
      [false],
    ],
    ['is in a stream', { image: { stream: 'https://m.example/s.json' } }, [true, false]],
  ])(
    'requires verified TLS only when nothing else verifies an image that %s',
    async (...[, config, only]) => {
      const web = fakeWeb().with(url, image).with('https://m.example/s.json', stream);
      await runStep(chooseImage, { config, facts, host: hostWithFile(), web });
      expect(web.opened.map(({ tlsOnly }) => tlsOnly)).toEqual(only);
    },
  );

  it.each(['/opt/stream.json', 'https://mirror.example/stream.json'])(
    'finds the URL and the digest in the stream %s',
    async (location) => {
      const host = hostWithFile().withFile('/opt/stream.json', stream);
      const web = fakeWeb().with(url, image).with('https://mirror.example/stream.json', stream);
      expect(await chosen({ stream: location }, { host, web })).toEqual({
        kind: 'url',
        url: shown,
        source: 'stream',
        sha256,
        because: 'image.stream is set: raw.gz of 416.94.202410211619-0 for x86_64',
      });
    },
  );

  it.each([['too large', ' '.repeat(16 * 1024 ** 2 + 1)]])(
    'refuses stream metadata that is %s without showing its query',
    async (_, content) => {
      const location = 'https://mirror.example/stream.json?sig=abc';
      const { failure } = await tryStep(chooseImage, {
        config: { image: { stream: location } },
        facts,
        host: hostWithFile(),
        web: fakeWeb().with(location, content),
      });
      expect(failure).toMatchObject({
        code: 'image.stream-unreadable',
        context: { origin: 'https://mirror.example/stream.json' },
      });
      expect((failure as AgentError).message).not.toContain('abc');
    },
  );

  it.each<[string, string, 'refused' | 'accepted' | 'warned of']>([
    ['416.94.202410211619-0', '4.15.3', 'refused'],
    ['416.94.202410211619-0', '4.16.3', 'accepted'],
    ['416.94.202410211619-0', '4.17.0', 'warned of'],
    ['416.94.202410211619-0', '', 'accepted'],
    ['9.6.20250523-0', '4.20.1', 'accepted'],
    ['9.6.20250523-0', '', 'accepted'],
  ])('compares a stream of %s with the release %j: it is %s', async (...row) => {
    const [release, openshiftVersion, outcome] = row;
    const { failure, events } = await tryStep(chooseImage, {
      config: { image: { stream: '/opt/stream.json' }, cluster: { openshiftVersion } },
      facts,
      host: hostWithFile().withFile('/opt/stream.json', streamOf(release)),
      web: fakeWeb().with(url, image),
    });
    const cluster = openshiftVersion.slice(0, 4);
    const message = `image ${release} is of 4.16, the cluster is ${cluster}`;
    const context = { release, line: '4.16', cluster };
    if (outcome !== 'refused') expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ code: 'image.not-the-release', message, context });
    expect(notesAt('warn', events)).toEqual(
      outcome === 'warned of' ? [{ message, ...context }] : [],
    );
  });

  describe('a node image', () => {
    const nodeImage = 'quay.example/node:4.17.1';
    const config = { image: { nodeImage }, cluster: { openshiftVersion: '4.17.9' } };
    const argv = ['skopeo', 'inspect', '--config', `docker://${nodeImage}`];
    const labelled = (architecture: string, version: string): string =>
      JSON.stringify({ architecture, config: { Labels: { version } } });

    it.each([
      ['another release', labelled('amd64', '418.94.1-0'), 'image.not-the-release'],
      ['another architecture', labelled('arm64', '417.94.1-0'), 'image.wrong-architecture'],
      ['this release and architecture', labelled('amd64', '417.94.1-0'), undefined],
    ])('is judged by its labels: one of %s', async (_, inspected, code) => {
      const host = onMedium().on(argv).prints(inspected);
      const { failure, events } = await tryStep(chooseImage, { config, facts, host });
      if (code === undefined) expect(failure).toBeUndefined();
      else expect(failure).toMatchObject({ code, context: { image: nodeImage } });
      expect(notesAt('warn', events)).toEqual([]);
    });

    it.each<readonly [string, (answer: Answering) => FakeHost, string, string]>([
      [
        'may not be pulled',
        (skopeo) => skopeo.fails(1, 'unauthorized'),
        'command.failed',
        'unauthorized',
      ],
      [
        'is not described in JSON',
        (skopeo) => skopeo.prints('no route'),
        'command.unreadable',
        `skopeo printed no configuration of ${nodeImage}: no route`,
      ],
    ])('is judged by its tag with a warning when it %s', async (...row) => {
      const [, answer, code, reason] = row;
      const warning = {
        message: 'the node image cannot be inspected; only its tag is checked',
        image: nodeImage,
        code,
        reason: expect.stringContaining(reason) as string,
      };
      const choose = (openshiftVersion: string) =>
        tryStep(chooseImage, {
          config: { ...config, cluster: { openshiftVersion } },
          facts,
          host: answer(onMedium().on(argv)),
        });
      const same = await choose('4.17.9');
      expect(same.failure).toBeUndefined();
      expect(notesAt('warn', same.events)).toEqual([warning]);
      expect((await choose('4.16.9')).failure).toMatchObject({ code: 'image.not-the-release' });
    });

    it('is not judged after the step was stopped', async () => {
      const stop = new AbortController();
      const host = onMedium()
        .on(argv)
        .answers(() => {
          stop.abort(new Error('stopped'));
          return { exitCode: 1 };
        });
      const { failure, notes } = await tryStep(chooseImage, {
        config: { ...config, cluster: { openshiftVersion: '4.16.9' } },
        facts,
        host,
        signal: stop.signal,
      });
      expect(failure).not.toMatchObject({ code: 'image.not-the-release' });
      expect(failure).toBeDefined();
      expect(notes).toEqual([]);
    });
  });
});
