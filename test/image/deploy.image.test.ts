import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  buildAgentImage,
  openContainerStore,
  podmanWithBases,
} from '../support/container-store.ts';
import { parseConfig } from '../../src/ignition/parse.ts';
import { readFileContent } from '../../src/ignition/resource.ts';
import { exitCodes } from '../../src/model/failure.ts';
import { version } from '../../src/model/version.ts';
import { diskFailures } from '../../src/steps/disk/failures.ts';
import { followGuide, shownOn } from '../guides/follow-guide.ts';
import { commandForLostDisk, onOwnMachine, ownMachine } from './own-machine.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');
const name = 'registry.example/bootwright:latest';
const store = openContainerStore();

let folder: string;
beforeAll(async () => {
  await buildAgentImage(store, name);
  folder = mkdtempSync(join(tmpdir(), 'bootwright-deploy-'));
});
afterAll(async () => {
  await store.run('podman', 'untag', name, name);
  rmSync(folder, { recursive: true });
});

/** The files of an Ignition, in a folder that is overlaid on /etc. */
function applyIgnition(ignition: string): string {
  const text = readFileSync(join(deploy, 'host', ignition), 'utf8');
  const config = parseConfig(text);
  const root = join(folder, ignition);
  for (const { path } of config.storage?.files ?? []) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), readFileContent(config, path));
  }
  return root;
}

/** The machine's /etc is a copy that ends with the machine. */
const withFiles = (root: string): string => `
  mkdir -p /run/etc/upper /run/etc/work
  mount -t overlay etc -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
  cp -r ${root}/etc/. /etc/
`;

const program = join(deploy, 'host/bootwright.sh');

/** The disk of the example does not exist; by its role, the host runs all steps before it. */
async function expectMissingDisk(root: string, role: string): Promise<void> {
  const { exitCode, stdout, stderr } = await onOwnMachine(
    store,
    `${withFiles(root)} code=0; ${program} install || code=$?; cat /opt/install-dir/journal.jsonl; exit $code`,
  );
  expect(stderr).toMatch(/^failed: disk\.missing: .*YOUR-DISK/m);
  expect(stdout).toContain(`"role":"${role}"`);
  expect(exitCode).toBe(exitCodes[diskFailures['disk.missing'].kind]);
}

describe('deploy/host/bootwright.sh', () => {
  it('runs the image, with the configuration of the host', async () => {
    const root = applyIgnition('install-worker.ign');
    const { exitCode, stdout } = await onOwnMachine(
      store,
      `${withFiles(root)} ${program} --version; ${program} config validate; ${program} plan`,
    );
    expect(stdout).toMatch(new RegExp(`^${version}\nthe configuration is complete\n`));
    expect(stdout).toContain('Role worker: ');
    expect(exitCode).toBe(0);
  });

  it.each(['worker', 'master'])('installs with the files of install-%s.ign', async (role) => {
    await expectMissingDisk(applyIgnition(`install-${role}.ign`), role);
  });

  it('reads the Ignition of a node where install-master.ign writes it', () => {
    const config = parse(readFileSync(join(deploy, 'host/config/master.yaml'), 'utf8')) as {
      readonly ignition: { readonly file: string };
    };
    const written = join(applyIgnition('install-master.ign'), config.ignition.file);
    expect(readFileSync(written, 'utf8')).toBe(
      readFileSync(join(deploy, 'host/master.ign'), 'utf8'),
    );
  });
});

/** An scp whose target host is this folder. */
const scp = '[ "$3" = core@HOST: ]; test -s "$1"; cp "$2" .';

/**
 * Runs the lines of a block as in a terminal, which continues after a failing line, and then
 * others, on a machine with these images.
 */
const pasted = (images: string, then = ''): readonly string[] => [
  ...['sh', '-c', `exec ${ownMachine(images).join(' ')} "set +e\n$0\n${then}"`],
];

describe('the command that runs the image', () => {
  const environment = { ...store.environment, HOME: '/root' };

  it('works from the build to the host as in README.md', async () => {
    const [bin, empty] = [join(folder, 'bin'), join(folder, 'empty')];
    for (const path of [bin, empty]) mkdirSync(path);
    writeFileSync(join(bin, 'scp'), `#!/bin/sh -e\n${scp}\n`, { mode: 0o755 });
    const worker = 'deploy/host/config/worker.yaml';
    const [, , onHost = ''] = pasted(empty);
    const printed = await followGuide(
      '../../README.md',
      {
        ...environment,
        PATH: `${bin}:${await podmanWithBases(store)}:${process.env['PATH'] ?? ''}`,
      },
      {
        suite: 'image',
        files: { [worker]: readFileSync(join(deploy, '..', worker)) },
        shell: ['sh', '-ec', `case "$0" in *'podman load'*) ${onHost};; *) eval "$0";; esac`],
      },
    );
    // The disk of the example does not exist.
    const missing = 'disk.missing: /dev/disk/by-id/YOUR-DISK is not a disk of this';
    const expected = [
      'Loaded image: localhost/bootwright:latest',
      '✓ configuration       complete for the role worker',
      `✗ disk/resolve        ${missing}`,
      'Role worker: ',
      `failed: ${missing}`,
      `worker, bootwright ${version}: failed `,
    ];
    const at = expected.map((begin) => printed.indexOf(`\n${begin}`));
    expect(at, printed).toEqual(
      at.filter((place) => place >= 0).toSorted((one, other) => one - other),
    );
  });

  it('works as in first-installation.md', async () => {
    const other = 'registry.example.com/bootwright:latest';
    await store.run('podman', 'tag', name, other);
    try {
      const shell = pasted(store.images, 'bootwright --version');
      const scene = { suite: 'image', shell };
      expect(await followGuide('first-installation.md', environment, scene)).toBe(`${version}\n`);
    } finally {
      await store.run('podman', 'untag', other, other);
    }
  });
});

interface Variables {
  readonly data: Readonly<Record<string, string>>;
}

describe.each(['images.yaml', 'podman.yml'])('deploy/assisted-service/%s', (file) => {
  it('names an image that runs the command of the service', async () => {
    const { data } = parse(
      readFileSync(join(deploy, 'assisted-service', file), 'utf8'),
    ) as Variables;
    const { INSTALLER_IMAGE: installer = '', CONTROLLER_IMAGE: controller } = data;
    expect(installer).toBe(controller);
    const line = shownOn('docs/image.md', 'podman run --privileged --pid=host --net=host').replace(
      'IMAGE',
      installer,
    );
    await using service = await commandForLostDisk(line);
    const { stderr } = await onOwnMachine(store, `${service.line} > /dev/null || true`, {
      PULL_SECRET_TOKEN: service.token,
    });
    expect(stderr).toMatch(/^failed: disk\.missing: /m);
    expect(service.inventory.store.host(service.hostId)).toMatchObject({ status: 'error' });
  });
});
