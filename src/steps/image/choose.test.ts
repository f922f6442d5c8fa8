import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../config/schema.ts';
import { coreOsDisk, keptPartition, targetOf } from '../../../test/support/disk-samples.ts';
import { type Answering, fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { checkInputs, chooseImage } from './choose.ts';
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

const stream = JSON.stringify({
  architectures: {
    x86_64: {
      artifacts: {
        metal: {
          release: '416.94.202410211619-0',
          formats: { 'raw.gz': { disk: { location: url, sha256 } } },
        },
      },
    },
  },
});

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

const eth0 = '[connection]\nid=eth0\ntype=ethernet\n';

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
    ['include another file', '600 eth0.nmconnection\n600 README\n', /^\/etc\/network: README: /],
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

  it('checks keyfiles again in checkInputs', async () => {
    const host = fakeHost()
      .on(['find', '-L', '/etc/network', rest])
      .prints('644 eth0.nmconnection\n')
      .on(nmcliArgv)
      .prints(eth0);
    const { failure } = await tryStep(checkInputs, {
      config: { network: { keyfiles: '/etc/network' } },
      host,
      facts: {
        disk: undefined,
        ignition: { path: '/h.ign', bytes: 2, sha256, origin: 'the service', version: '3.2.0' },
      },
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

  it.each<readonly [string, (host: FakeHost) => FakeHost, string | undefined]>([
    ['is valid', (host) => nmcliTakes(host.on(gc).prints(printed(keyfile))), undefined],
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
    ],
  ])('checks nmstate that %s without writing keyfiles', async (_, prepare, code) => {
    const host = prepare(hostWithFile());
    const { failure } = await tryStep(chooseImage, { config: nmstate, facts, host });
    if (code === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ code });
    expect(host.textOf('/opt/install-dir/network/eth0.nmconnection')).toBeUndefined();
  });

  it('passes on warnings of nmstatectl', async () => {
    const host = nmcliTakes(hostWithFile())
      .on(gc)
      .prints(
        printed(keyfile),
        '[2026-11-28T05:04:55Z INFO  nmstatectl] Nmstate version: 2.2.57\n[2026-11-28T05:04:55Z WARN  nmstate::iface] Unsupported interface type ethernett\n',
      );
    const { notes } = await runStep(chooseImage, { config: nmstate, facts, host });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([
      'warn: /opt/host.yaml: Unsupported interface type ethernett',
    ]);
  });

  it('hides passwords of the nmstate file that nmstatectl may print', async () => {
    const state =
      '802.1x: { identity: a, private-key-password: 20261128 }\n{"psk": "planted", "mka-cak":\n\'0a1b2c3d\'}';
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
    const inputs = {
      disk: undefined,
      ignition: { path: '/h.ign', bytes: 2, sha256, origin: 'the service', version: '3.2.0' },
    };
    const hostWithOld = (): FakeHost =>
      fakeHost()
        .withFile(`${folder}/old.nmconnection`, 'old')
        .on(gc)
        .prints(printed(keyfile))
        .on(makeFolderArgv)
        .succeeds();

    it('are checked, and then written to a private folder, from which others are removed', async () => {
      const known = nmcliTakes(hostWithOld());
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
  const ignition = { path: '/h.ign', bytes: 2, sha256, origin: 'the service', version: '3.2.0' };
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

  it('leaves the choice to the writer with a warning when nothing is found', async () => {
    const { value, notes } = await runStep(chooseImage, { facts, host: fakeHost() });
    expect(value.kind).toBe('live');
    expect(notes).toContain(
      'warn: no image on the live medium: coreos-installer will look for one itself',
    );
  });

  it('fails when the source is live and the medium has no image', async () => {
    await expect(chosen({ source: 'live' })).rejects.toMatchObject({ code: 'image.no-live-image' });
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

  it.each([
    ['4.15.3', 'image.not-the-release', 0],
    ['4.16.3', undefined, 0],
    ['4.17.0', undefined, 1],
  ])('compares the stream with the release %s', async (openshiftVersion, code, warnings) => {
    const end = await tryStep(chooseImage, {
      config: { image: { stream: '/opt/stream.json' }, cluster: { openshiftVersion } },
      facts,
      host: hostWithFile().withFile('/opt/stream.json', stream),
      web: fakeWeb().with(url, image),
    });
    expect((end.failure as { code?: string } | undefined)?.code).toBe(code);
    expect(end.notes.filter((note) => note.startsWith('warn'))).toHaveLength(warnings);
  });

  it('refuses a node image of another release', async () => {
    const nodeImage = 'quay.example/node@sha256:1';
    const host = hostWithFile()
      .on(['skopeo', 'inspect', '--config', `docker://${nodeImage}`])
      .prints('{"architecture":"amd64","config":{"Labels":{"version":"418.94.1-0"}}}');
    const config = { image: { nodeImage }, cluster: { openshiftVersion: '4.17.1' } };
    await expect(runStep(chooseImage, { config, facts, host })).rejects.toMatchObject({
      code: 'image.not-the-release',
      context: { image: nodeImage },
    });
  });

  it('checks only the tag of a node image that cannot be inspected', async () => {
    const nodeImage = 'quay.example/node:4.17.1';
    const host = hostWithFile().on(['skopeo', rest]).fails(1, 'unauthorized');
    const config = { image: { nodeImage }, cluster: { openshiftVersion: '4.17.9' } };
    const { notes } = await runStep(chooseImage, { config, facts, host });
    expect(notes[0]).toContain('only its tag is checked');
  });
});
