import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBundle } from '../../scripts/bundle.ts';
import {
  buildAgentImage,
  imageBytes,
  openContainerStore,
} from '../../scripts/image/agent-image.ts';
import { version } from '../../src/model/version.ts';
import { exitCodes } from '../../src/model/failure.ts';
import { diskFailures } from '../../src/steps/disk/failures.ts';
import { commandForLostDisk, onOwnMachine } from './own-machine.ts';

const store = openContainerStore();
const name = 'localhost/bootwright-test:image';

beforeAll(async () => {
  await ensureBundle(() => undefined);
  await buildAgentImage(store, { name });
});

describe('the image', () => {
  it('has the program where the discovery agent starts it', async () => {
    const inspected = await store.run('podman', 'image', 'inspect', name);
    const [image] = JSON.parse(inspected) as readonly object[];
    expect(image).toMatchObject({
      Config: {
        Entrypoint: ['/usr/bin/installer'],
        Labels: {
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.base.name': 'localhost/bootwright-base:debian',
        },
      },
    });
  });

  it('is not built on an image that a registry may exchange', async () => {
    const base = 'registry.example/base:9';
    await store.run('podman', 'tag', 'localhost/bootwright-base:debian', base);
    try {
      const building = buildAgentImage(store, { name: 'localhost/bootwright-test:refused', base });
      await expect(building).rejects.toThrow(`BASE ${base} needs a digest`);
    } finally {
      await store.run('podman', 'untag', base, base);
    }
  });

  it('is the same, to its digest, when it is made a second time of the same input', async () => {
    const bundle = join(import.meta.dirname, '../../dist/bootwright.mjs');
    utimesSync(bundle, new Date(), new Date());
    const second = 'localhost/bootwright-test:second';
    await buildAgentImage(store, { name: second, isFresh: true });
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

  it('stays below 220 MB', async () => {
    expect((await imageBytes(store, name)) / 1e6).toBeLessThan(220);
  });

  it('tells its version and its flags, also under its own name', async () => {
    const { stdout, exitCode } = await onOwnMachine(
      store,
      `podman run --privileged --rm ${name} --version
       podman run --privileged --rm --entrypoint /usr/bin/bootwright ${name} --help`,
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${version}\n`));
    expect(stdout).toMatch(/^ {2}bootwright -r ROLE \[flags\]$/m);
  });
});

describe('the command of the service', () => {
  it('runs the agent, which fails cleanly where the disk is not there', async () => {
    await using service = await commandForLostDisk(name);
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
    await using service = await commandForLostDisk(name);
    const [before, after = ''] = service.line.split(`'run' `);
    const { exitCode, stderr } = await onOwnMachine(
      store,
      `${before}'run' --read-only --read-only-tmpfs=false ${after}`,
      { PULL_SECRET_TOKEN: service.token },
    );
    expect(stderr).toMatch(/^failed: disk\.missing: .*\nwhy: .*\nnext: .*\nlogs: .*\n$/);
    expect(exitCode).toBe(exitCodes[diskFailures['disk.missing'].kind]);
    expect(service.inventory.store.host(service.hostId)).toMatchObject({ status: 'error' });
  });

  it('is ended by the stop of the service before it is killed', async () => {
    // The service answers nothing, so the agent is still telling it of its failure when it is stopped.
    await using service = await commandForLostDisk(name, [{ kind: 'hang', on: '.' }]);
    const { exitCode, stderr } = await onOwnMachine(
      store,
      `${service.line} > /dev/null & run=$!
       until grep -qs disk.missing /var/log/assisted-installer.log; do sleep 0.2; done
       podman stop -i -t 5 assisted-installer > /dev/null
       code=0; wait $run || code=$?
       exit $code`,
      { PULL_SECRET_TOKEN: service.token },
    );
    // 137 would tell that podman lost timeout after five seconds.
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 143 });
  });
});
