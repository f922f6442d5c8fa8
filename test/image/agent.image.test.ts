import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBundle } from '../../scripts/bundle.ts';
import {
  agentImageName,
  buildAgentImage,
  openContainerStore,
  withImageRoot,
} from '../../scripts/image/agent-image.ts';
import { archiveImages, mostPackedBytes } from '../../scripts/image/archive.ts';
import { sbomPath } from '../../scripts/image/layout.ts';
import { startPrograms } from '../../scripts/image/release.ts';
import type { Bom } from '../../scripts/image/sbom.ts';
import { ownArchitecture } from '../../scripts/parts/agent-image.ts';
import { manifestFile } from '../../src/cli/logs/read.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { version } from '../../src/model/version.ts';
import { exitCodes } from '../../src/model/failure.ts';
import { diskFailures } from '../../src/steps/disk/failures.ts';
import { shownOn } from '../guides/follow-guide.ts';
import { runImageCommand } from './npm-run-image.ts';
import { commandForLostDisk, onOwnMachine } from './own-machine.ts';

const top = join(import.meta.dirname, '../..');
const store = openContainerStore();
const name = 'localhost/bootwright-test:image';
const foreign = ownArchitecture === 'amd64' ? 'arm64' : 'amd64';
const foreignName = 'localhost/bootwright-test:foreign';
/** The variables that a guide gives the service. */
const { INSTALLER_IMAGE: guideImage = '', CONTROLLER_IMAGE: guideController } = (
  parse(shownOn('docs/guides/behind-assisted-service.md', 'data:')) as {
    readonly data: Readonly<Record<string, string>>;
  }
).data;
const folder = mkdtempSync(join(tmpdir(), 'bootwright-image-test-'));

beforeAll(async () => {
  await ensureBundle(() => undefined);
  // Both have the same name, unless another is asked for.
  await runImageCommand(
    shownOn('docs/image.md', 'npm run image -- --arch arm64').replace('arm64', foreign),
  );
  await store.run('podman', 'tag', agentImageName, foreignName);
  await runImageCommand(shownOn('docs/image.md', 'npm run image'));
  await store.run('podman', 'tag', agentImageName, name);
  await store.run('podman', 'tag', name, guideImage);
});

afterAll(async () => {
  await store.run('podman', 'untag', name, guideImage);
  rmSync(folder, { recursive: true });
});

const inspected = async (image: string): Promise<object | undefined> => {
  const [one] = JSON.parse(await store.run('podman', 'image', 'inspect', image)) as object[];
  return one;
};

/** The files and links below a folder; no link is followed. */
const filesIn = (root: string): readonly string[] =>
  execFileSync('find', [root, '!', '-type', 'd', '-printf', '%P\n']).toString().trim().split('\n');

/** A base image by its digest, as a registry would have it. */
const baseByDigest = async (): Promise<readonly [name: string, digest: string]> => {
  const image = `localhost/bootwright-base:debian-${ownArchitecture}`;
  const format = ['--format', '{{.Digest}}', image] as const;
  return ['localhost/bootwright-base', await store.run('podman', 'image', 'inspect', ...format)];
};

/** The date of the commit, as labels have it. */
const committed = new Date(
  Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: top }).toString()) * 1000,
)
  .toISOString()
  .replace('.000Z', 'Z');

describe('the image', () => {
  it('has the program where the discovery agent starts it, and says what it is', async () => {
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

  it('names the base that it was given by its digest, and takes none that may be exchanged', async () => {
    const [base, digest] = await baseByDigest();
    const second = 'localhost/bootwright-test:on-digest';
    await buildAgentImage(store, { name: second, base: `${base}@${digest}` });
    const labels = { 'org.opencontainers.image.base.name': base };
    expect(await inspected(second)).toMatchObject({
      Config: { Labels: { ...labels, 'org.opencontainers.image.base.digest': digest } },
    });
    await store.run('podman', 'untag', second, second);
    const building = buildAgentImage(store, { name: second, base: 'registry.example/base:9' });
    await expect(building).rejects.toThrow('base registry.example/base:9 needs a digest');
  });

  it('is the same, to its digest, when it is made a second time of the same input', async () => {
    const bundle = join(top, 'dist/bootwright.mjs');
    utimesSync(bundle, new Date(), new Date());
    const second = 'localhost/bootwright-test:second';
    await buildAgentImage(store, { name: second });
    try {
      const digests = await store.run(
        ...(['podman', 'image', 'inspect', '--format', '{{.Digest}}', name, second] as const),
      );
      const [digest, ...others] = digests.split('\n');
      expect(digest).toMatch(/^sha256:/);
      expect(others).toEqual([digest]);
    } finally {
      await store.run('podman', 'untag', second, second);
    }
  });

  it('is at most 60 MB packed for each architecture, behind one index', async () => {
    const file = join(folder, 'both.tar');
    const both = await archiveImages(store, [name, foreignName], { file, name: 'bootwright:test' });
    expect(both.bytes).toHaveLength(2);
    for (const bytes of both.bytes) expect(bytes).toBeLessThanOrEqual(mostPackedBytes);
    const index = execFileSync('skopeo', ['inspect', '--raw', `oci-archive:${file}`]);
    expect(JSON.parse(index.toString())).toMatchObject({
      mediaType: 'application/vnd.oci.image.index.v1+json',
      manifests: [ownArchitecture, foreign].map((architecture) => ({
        platform: { architecture, os: 'linux' },
      })),
    });
  });

  it('has nothing but what is used inside, and no shell', async () => {
    const files = await withImageRoot(store, name, (root) => Promise.resolve(filesIn(root)));
    const others = files.filter(
      (path) => !/^usr\/(?:lib\/bootwright|share\/doc|share\/licenses)\//.test(path),
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
        ...['ca-certificates.crt', 'group', 'nsswitch.conf', 'passwd', 'os-release', 'os-release'],
        ...['base.txt', 'bootwright.cdx.json'],
      ].toSorted(),
    );
  });

  it('lists what it is made of, by the schema of CycloneDX', async () => {
    const text = await withImageRoot(store, name, (root) =>
      Promise.resolve(readFileSync(join(root, sbomPath), 'utf8')),
    );
    expect(await new JsonStrictValidator(Version.v1dot6).validate(text)).toBeNull();
    const { components } = JSON.parse(text) as Bom;
    const licences = readFileSync(join(top, 'dist/licences.txt'), 'utf8');
    const bundled = licences.matchAll(/^(?:@[^/\s]+\/)?(\S+ \d+\.\d+\.\d+) \(.*\)$/gm);
    const listed = components.map((one) => ({ ...one, as: `${one.name} ${one.version ?? ''}` }));
    const base = listed.filter(({ purl = '' }) => purl.startsWith('pkg:deb/'));
    expect(base.map((one) => one.name)).toEqual(
      expect.arrayContaining(['libc6', 'libstdc++6', 'util-linux']),
    );
    const others = listed.filter((one) => !base.includes(one)).map(({ as }) => as);
    expect(others.toSorted()).toEqual(
      [`node ${process.versions.node}`, ...[...bundled].map(([, as = '']) => as)].toSorted(),
    );
  });

  it('starts on the other architecture', async () => {
    expect(await startPrograms(store, foreignName, foreign)).toEqual({
      node: `0 ${process.version} ${foreign === 'amd64' ? 'x64' : foreign} LE`,
      bootwright: `0 ${version}`,
      nsenter: expect.stringMatching(/^0 nsenter from util-linux/) as string,
      logger: expect.stringMatching(/^0 logger from util-linux/) as string,
      env: expect.stringMatching(/^0 env \(GNU coreutils\)/) as string,
    });
  });

  it('tells its version and its flags, also under its own name', async () => {
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
  const line = shownOn('docs/image.md', 'podman run').replace('IMAGE', name);

  it('runs the agent, which fails cleanly where the disk is not there', async () => {
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
    expect(stderr).toMatch(/^failed: disk\.missing: .*\nwhy: .*\nnext: .*\nlogs: .*\n$/);
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

  it('runs where nothing but its mounts can be written to', async () => {
    await using service = await commandForLostDisk(line);
    const { exitCode, stderr } = await onOwnMachine(
      store,
      service.line.replace(' run ', ' run --read-only --read-only-tmpfs=false '),
      { PULL_SECRET_TOKEN: service.token },
    );
    expect(stderr).toMatch(/^failed: disk\.missing: .*\nwhy: .*\nnext: .*\nlogs: .*\n$/);
    expect(exitCode).toBe(exitCodes[diskFailures['disk.missing'].kind]);
    expect(service.inventory.store.host(service.hostId)).toMatchObject({ status: 'error' });
  });

  it('has its logs collected while it hangs, and is ended by the stop of the service before it is killed', async () => {
    // The service answers nothing, so the agent is still telling it of its failure when it is stopped.
    await using service = await commandForLostDisk(line, [{ kind: 'hang', on: '.' }]);
    const loop = shownOn('docs/guides/when-it-hangs.md', 'for host in')
      .replace('m1 m2 192.0.2.7', 'm1')
      .replace('registry.example.com/bootwright:latest', name);
    // The host is this machine.
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
    // 137 would tell that podman lost timeout after five seconds.
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
