import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rpmOstreeDeployment, rpmOstreeOutput } from '../support/os-samples.ts';
import { type Bundle, copyBundle } from './bundle.ts';

let bundle: Bundle;
let folder: string;

/**
 * Replaces nsenter and the host behind it; the PATH of the program does not have the real nsenter.
 */
const standIn = `#!/bin/bash
while [ "$1" != -- ]; do shift; done
shift
echo "$*" >> "\${0%/*}/ran"
case "$*" in
  'rpm-ostree status --json') cat "\${0%/*}/status" ;;
  'rpm-ostree --version' | 'test -e /run/ostree-booted') ;;
  *) echo "nsenter: failed to execute $1: No such file or directory" >&2; exit 127 ;;
esac
`;

beforeAll(async () => {
  bundle = await copyBundle();
  folder = await mkdtemp(join(tmpdir(), 'bootwright-node-'));
  await writeFile(join(folder, 'nsenter'), standIn, { mode: 0o755 });
  await mkdir(join(folder, 'proc'));
  await writeFile(join(folder, 'proc/cmdline'), 'rw quiet\n');
  const booted = rpmOstreeDeployment('1', { booted: true });
  await writeFile(join(folder, 'status'), rpmOstreeOutput([booted, rpmOstreeDeployment('0')]));
});
afterAll(async () => {
  await rm(bundle.directory, { recursive: true });
  await rm(folder, { recursive: true });
});

const node = (...words: readonly string[]) =>
  bundle.run(['node', ...words], {
    environment: { PATH: folder, BOOTWRIGHT_HOST_ROOT: folder },
  });

describe('bootwright node', () => {
  it('refuses to record an image without a digest before it runs a command', async () => {
    await rm(join(folder, 'ran'), { force: true });
    const { exitCode, stderr } = await node('apply', 'registry.example.com/os/node:1', '--record');
    expect([exitCode, stderr.split(':', 2)]).toEqual([2, ['failed', ' os.bad-image-name']]);
    expect(stderr).toMatch(/^next: write HOST\/PATH@sha256:DIGEST$/m);
    await expect(readFile(join(folder, 'ran'), 'utf8')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('ends with exit code 4 on a host without flock', async () => {
    const { exitCode, stdout, stderr } = await node('rollback', '--reboot');
    // This host has no flock, and so no lock.
    expect([exitCode, stdout]).toEqual([4, '']);
    expect(stderr).toMatch(/^failed: \S+: .+\n(?:why: .+\n)?next: .+\n$/m);
  });
});
