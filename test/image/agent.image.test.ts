import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { architectures, ownArchitecture } from '../../scripts/parts/agent-base.ts';
import { manifestFile } from '../../src/cli/logs/read.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { version } from '../../src/model/version.ts';
import { exitCodes } from '../../src/model/failure.ts';
import { diskFailures } from '../../src/steps/disk/failures.ts';
import { shownOn } from '../guides/follow-guide.ts';
import { authority } from '../support/authority.ts';
import { buildBy, openContainerStore, withImageRoot } from '../support/container-store.ts';
import { type SecureRegistry, startSecureRegistry } from './lane/secure-registry.ts';
import { commandForLostDisk, onOwnMachine } from './own-machine.ts';

const top = join(import.meta.dirname, '../..');
const store = openContainerStore();
const name = 'localhost/bootwright-test:image';
const plainName = 'localhost/bootwright-test:plain';
const foreignName = 'localhost/bootwright-test:foreign';
const foreign = architectures.find((one) => one !== ownArchitecture) ?? ownArchitecture;
/** The service's variables in a guide. */
const { INSTALLER_IMAGE: guideImage = '', CONTROLLER_IMAGE: guideController } = (
  parse(shownOn('docs/guides/behind-assisted-service.md', 'data:')) as {
    readonly data: Readonly<Record<string, string>>;
  }
).data;
const folder = mkdtempSync(join(tmpdir(), 'bootwright-image-test-'));
const pushLine = shownOn('docs/image.md', 'npm run image -- --push');
let registry: SecureRegistry;

beforeAll(async () => {
  registry = await startSecureRegistry(join(folder, 'registry'));
  // All builds have this name, unless a test sets another.
  const built = 'localhost/bootwright:latest';
  const cross = shownOn('docs/image.md', 'npm run image -- --platform').replace('arm64', foreign);
  await buildBy(store, cross);
  await store.run('podman', 'tag', built, foreignName);
  await buildBy(store, shownOn('docs/image.md', 'podman build'));
  await store.run('podman', 'tag', built, plainName);
  // npm of the build reaches its registry with the certificates and settings of the base.
  const push = pushLine.replace('registry.example.com', registry.address);
  await buildBy(store, `${registryAccess().join(' ')} ${push}`);
  await store.run('podman', 'tag', built, name);
  await store.run('podman', 'tag', built, guideImage);
});

afterAll(async () => {
  await store.run('podman', 'untag', name, guideImage);
  await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Variables for a command that reaches the registry. */
const registryAccess = (): readonly string[] =>
  Object.entries(registry.access).map(([name, path]) => `${name}=${path}`);

const inspected = async (image: string): Promise<object | undefined> => {
  const [one] = JSON.parse(await store.run('podman', 'image', 'inspect', image)) as object[];
  return one;
};

/** The files and links below a folder; links are not followed. */
const filesIn = (root: string): readonly string[] =>
  execFileSync('find', [root, '!', '-type', 'd', '-printf', '%P\n']).toString().trim().split('\n');

/** The date of the commit, in the format of labels. */
const committed = new Date(
  Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: top }).toString()) * 1000,
)
  .toISOString()
  .replace('.000Z', 'Z');

/** Programs of an image, each with arguments that print its version. */
const commands = {
  node: ['/usr/bin/node', '--print', '[process.version, process.arch].join(" ")'],
  bootwright: ['/usr/bin/node', '/usr/lib/bootwright/bootwright.mjs', '--version'],
  nsenter: ['/usr/bin/nsenter', '--version'],
  logger: ['/usr/bin/logger', '--version'],
  env: ['/usr/bin/env', '--version'],
};

/**
 * Starts the programs of the image for the other architecture in an emulator, and returns each exit
 * code with its output.
 */
const startForeign = (): Promise<Readonly<Record<string, string>>> =>
  withImageRoot(store, foreignName, async (root) => {
    const emulator = foreign === 'arm64' ? 'qemu-aarch64-static' : 'qemu-x86_64-static';
    // The folder belongs to a container and disappears with it.
    copyFileSync(join('/usr/bin', emulator), join(root, emulator));
    const started = Object.entries(commands).map(async ([program, argv]) => {
      const end = await new Promise<string>((done) => {
        execFile('chroot', [root, `/${emulator}`, ...argv], (error, out, err) =>
          done(`${String(error?.code ?? 0)} ${out}${err}`.trimEnd()),
        );
      });
      return [program, end] as const;
    });
    return Object.fromEntries(await Promise.all(started));
  });

/** Compressed bytes of the layers of an image, as in a registry. */
async function packedBytes(image: string): Promise<number> {
  const layout = mkdtempSync(join(folder, 'packed-'));
  await store.run('podman', 'push', '--quiet', '--format=oci', image, `oci:${layout}:packed`);
  const raw = await store.run('skopeo', 'inspect', '--raw', `oci:${layout}:packed`);
  const { layers } = JSON.parse(raw) as { readonly layers: readonly { readonly size: number }[] };
  return layers.reduce((sum, { size }) => sum + size, 0);
}

interface Bom {
  readonly components: readonly {
    readonly name: string;
    readonly version?: string;
    readonly 'bom-ref': string;
  }[];
}

describe('the image', () => {
  it('has the entrypoint of the discovery agent and its labels', async () => {
    expect(await inspected(name)).toMatchObject({
      Config: {
        Entrypoint: ['/usr/bin/installer'],
        Labels: {
          'org.opencontainers.image.title': 'bootwright',
          'org.opencontainers.image.description': expect.any(String) as string,
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.created': committed,
          'org.opencontainers.image.licenses': 'Apache-2.0',
        },
      },
    });
  });

  it('is in the registry to which it was pushed', async () => {
    const [, tag = ''] = /bootwright:(\S+)$/.exec(pushLine) ?? [];
    const pushed = `docker://${registry.address}/bootwright:${tag}`;
    const skopeo = ['skopeo', 'inspect', '--config', pushed];
    const config = await store.run('env', ...registryAccess(), ...skopeo);
    expect(JSON.parse(config)).toMatchObject({ config: { Entrypoint: ['/usr/bin/installer'] } });
  });

  it.each([name, foreignName])('has at most 60 MB of compressed layers: %s', async (image) => {
    expect(await packedBytes(image)).toBeLessThanOrEqual(60e6);
  });

  it('has the same files when it is built by podman build alone', async () => {
    // The names of chunks contain a hash of the version, which contains the commit.
    const [one, other] = await Promise.all(
      [name, plainName].map(async (image) =>
        (await withImageRoot(store, image, filesIn))
          .map((path) => path.replace(/-[A-Z\d]{8}\.mjs/, '-….mjs'))
          .sort(),
      ),
    );
    expect(other).toEqual(one);
    expect(await inspected(plainName)).toMatchObject({
      Config: {
        Entrypoint: ['/usr/bin/installer'],
        Labels: { 'org.opencontainers.image.title': 'bootwright' },
      },
    });
  });

  it('contains only the files that it uses, and no shell', async () => {
    const files = await withImageRoot(store, name, filesIn);
    const others = files.filter(
      (path) =>
        !/^(?:usr\/(?:lib\/bootwright|share\/(?:doc|licenses))|var\/lib\/dpkg\/status\.d)\//.test(
          path,
        ),
    );
    const names = others.map((path) => basename(path).replace(/^ld-linux.*/, 'loader'));
    expect(names.toSorted()).toEqual(
      [
        ...['bin', 'lib', 'sbin', ...(ownArchitecture === 'amd64' ? ['lib64'] : [])],
        ...['bootwright', 'env', 'installer', 'logger', 'node', 'nsenter', 'loader'],
        ...[
          'libc.so.6',
          'libcap.so.2',
          'libdl.so.2',
          'libgcc_s.so.1',
          'libm.so.6',
          'libpcre2-8.so.0',
        ],
        ...['libpthread.so.0', 'libselinux.so.1', 'libstdc++.so.6', 'libsystemd.so.0'],
        ...['group', 'nsswitch.conf', 'passwd', 'os-release', 'os-release', 'bootwright.cdx.json'],
      ].toSorted(),
    );
  });

  it('has a valid CycloneDX SBOM of the bundled packages', async () => {
    const text = await withImageRoot(store, name, (root) =>
      readFileSync(join(root, 'usr/share/sbom/bootwright.cdx.json'), 'utf8'),
    );
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull();
    const { components } = JSON.parse(text) as Bom;
    const licences = await withImageRoot(store, name, (root) =>
      readFileSync(join(root, 'usr/share/licenses/bootwright/licences.txt'), 'utf8'),
    );
    const bundled = [...licences.matchAll(/^(?:@[^/\s]+\/)?(\S+ \d+\.\d+\.\d+) \(.*\)$/gm)];
    // esbuild lists Node's own modules as modules of the bundle.
    const listed = components.filter((one) => !one['bom-ref'].startsWith('VirtualComponent'));
    expect(listed.map((one) => `${one.name} ${one.version ?? ''}`).toSorted()).toEqual(
      bundled.map(([, as = '']) => as).toSorted(),
    );
  });

  it('lists the Debian packages of its other files in status.d', async () => {
    const packages = await withImageRoot(store, name, (root) =>
      readdirSync(join(root, 'var/lib/dpkg/status.d')).map((one) =>
        readFileSync(join(root, 'var/lib/dpkg/status.d', one), 'utf8'),
      ),
    );
    const named = packages.map((text) => /^Package: (.+)$[^]*^Version: .+$/m.exec(text)?.[1]);
    expect(named).toEqual(expect.arrayContaining(['libc6', 'libstdc++6', 'util-linux']));
    expect(named).not.toContain('bash');
  });

  it('starts on the other architecture', async () => {
    expect(await startForeign()).toEqual({
      node: `0 ${process.version} ${foreign === 'amd64' ? 'x64' : foreign}`,
      bootwright: `0 ${version}`,
      nsenter: expect.stringMatching(/^0 nsenter from util-linux/) as string,
      logger: expect.stringMatching(/^0 logger from util-linux/) as string,
      env: expect.stringMatching(/^0 env \(GNU coreutils\)/) as string,
    });
  });

  it('prints its version and its flags, also under its own name', async () => {
    const { stdout, exitCode } = await onOwnMachine(
      store,
      `podman run --privileged --rm ${name} --version
       podman run --privileged --rm --entrypoint /usr/bin/bootwright ${name} --help`,
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${version}\n`));
    expect(stdout).toMatch(/^Usage: bootwright -r ROLE \[flags\]$/m);
  });
});

describe('the command of the service', () => {
  const line = shownOn('docs/image.md', 'podman run --privileged --pid=host --net=host').replace(
    'IMAGE',
    name,
  );

  it('runs the agent, which fails cleanly on a missing disk', async () => {
    const shown = shownOn('docs/guides/behind-assisted-service.md', 'podman run');
    expect(shown).toContain(` ${guideImage} --role `);
    expect(guideController).toBe(guideImage);
    await using service = await commandForLostDisk(shown);
    const { inventory, hostId, token, line } = service;
    const { exitCode, stdout, stderr } = await onOwnMachine(
      store,
      `code=0
       ${line} || code=$?
       echo MOUNTS
       podman inspect --format '{{range .Mounts}}{{println .Source .Destination .RW}}{{end}}' assisted-installer
       echo OPT; ls -l /opt/install-dir
       echo LOG; cat /var/log/assisted-installer.log
       journalctl --sync
       echo JOURNAL; journalctl --no-pager --output=cat TAG=installer
       exit $code`,
      { PULL_SECRET_TOKEN: token },
    );
    expect(stderr).toMatch(/(?:^|\n)failed: disk\.missing: .*\nnext: .*\nlogs: .*\n$/);
    expect(exitCode).toBe(exitCodes[diskFailures['disk.missing'].kind]);
    const [printed = '', mounts, opt, log, journal] = stdout.split(
      /^(?:MOUNTS|OPT|LOG|JOURNAL)\n/m,
    );
    expect(mounts?.trim().split('\n').sort()).toEqual([
      '/dev /dev true',
      '/etc/pki /etc/pki true',
      '/opt /opt true',
      '/run/systemd/journal/socket /run/systemd/journal/socket true',
      '/tmp /tmp true',
      '/var/log /var/log true',
    ]);
    expect(opt).toMatch(/^-rw------- .* journal\.jsonl$/m);
    expect(log).toContain('disk.missing');
    expect(journal).toContain('disk.missing');
    expect(`${printed}${stderr}${log ?? ''}${journal ?? ''}`).not.toContain(token);
    expect(inventory.store.host(hostId)).toMatchObject({ stage: 'Starting installation' });
    expect(inventory.store.host(hostId)).toMatchObject({ status: 'error' });
    expect(inventory.store.host(hostId)?.statusInfo).toContain('disk.missing');
  });

  it('runs with a read-only root', async () => {
    await using service = await commandForLostDisk(line);
    const { exitCode, stderr } = await onOwnMachine(
      store,
      service.line.replace(' run ', ' run --read-only --read-only-tmpfs=false '),
      { PULL_SECRET_TOKEN: service.token },
    );
    expect(stderr).toMatch(/(?:^|\n)failed: disk\.missing: .*\nnext: .*\nlogs: .*\n$/);
    expect(exitCode).toBe(exitCodes[diskFailures['disk.missing'].kind]);
    expect(service.inventory.store.host(service.hostId)).toMatchObject({ status: 'error' });
  });

  it('has its logs collected while it hangs, and ends on podman stop before it is killed', async () => {
    // The service never answers, so the agent is still reporting its failure when it is stopped.
    await using service = await commandForLostDisk(line, [{ kind: 'hang', on: '.' }]);
    const loop = shownOn('docs/guides/when-it-hangs.md', 'for host in')
      .replace('m1 m2 192.0.2.7', 'm1')
      .replace('registry.example.com/bootwright:latest', name);
    // Here the host is this machine.
    const collecting = `cd "$(mktemp -d)"; ssh() { shift; "$@"; }; sudo() { "$@"; }
       ${loop}
       base64 logs-m1.tar.gz`;
    const { exitCode, stdout, stderr } = await onOwnMachine(
      store,
      `${service.line} > /dev/null & run=$!
       until grep -qs disk.missing /var/log/assisted-installer.log; do sleep 0.2; done
       ${collecting}
       podman stop -i -t 5 assisted-installer > /dev/null
       code=0; wait $run || code=$?
       exit $code`,
      { PULL_SECRET_TOKEN: service.token },
    );
    // 137 would mean that podman killed timeout after five seconds.
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 143 });
    const logs = await readArchive(Buffer.from(stdout, 'base64'));
    expect(JSON.parse(logs.get(manifestFile) ?? '')).toMatchObject({
      host: service.hostId,
      state: expect.stringContaining('disk.missing') as string,
    });
    expect(logs.get('config.txt')).toMatch(/^service\.token = \*\*\* +\(/m);
    expect(logs.get('disks.json')).toContain('"blockdevices"');
    expect([...logs.values()].join('\n')).not.toContain(service.token);
  });
});

describe('the CAs of the image', () => {
  const shown = shownOn('docs/image.md', 'podman run --privileged --pid=host --net=host');
  // Without this volume the files of the host are reached too.
  const line = shown.replace('IMAGE', name).replace('-v /etc/pki:/etc/pki ', '');

  /**
   * The server's log of an agent that connects by https, on a host with these certificate
   * authorities.
   */
  async function handshakesOnHost(pki: string): Promise<string> {
    await using server = await startSecureRegistry(join(folder, `tls-${crypto.randomUUID()}`));
    await using service = await commandForLostDisk(line);
    const place = '/etc/pki/ca-trust/extracted/pem';
    const { stderr } = await onOwnMachine(
      store,
      `mount -t tmpfs pki /etc/pki
       mkdir -p ${place} && printf '%s' "$AUTHORITIES" > ${place}/tls-ca-bundle.pem
       ${service.line.replace(service.inventory.url, `https://${server.address}`)} || true`,
      { AUTHORITIES: pki === 'own' ? server.authority : pki },
    );
    expect(stderr).toMatch(/^failed: disk\.missing: /m);
    return server.log();
  }

  it('are those of the host, whatever is mounted', async () => {
    expect(await handshakesOnHost('own')).not.toContain('TLS handshake error');
    expect(await handshakesOnHost(authority)).toContain('TLS handshake error');
  });
});
