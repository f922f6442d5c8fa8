// Output of coreos-installer 0.26, without its progress.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostFailure } from '../../ports/host-failures.ts';
import { writerFailure } from './writer-failure.ts';

const busy = `Installing Red Hat CoreOS 416.94 x86_64 (512-byte sectors)
Partitions in use on /dev/sda:
    /dev/sda1 mounted on /var/mnt
    /dev/sda2 in use by /dev/dm-0
Error: checking for exclusive access to /dev/sda

Caused by:
    found busy partitions`;
const reread = `Error: checking for exclusive access to /dev/sda

Caused by:
    0: couldn't reread partition table: device is in use
    1: EBUSY: Device or resource busy`;
const cut = `Downloading image from http://127.0.0.1:39483/metal.raw.zst
Failed to fetch signature: fetching signature URL
Signature not found; skipping verification as requested

Error: decoding and writing image

Caused by:
    0: request or response body error
    1: error reading a body from connection
    2: end of file before message length reached

Resetting partition table
Error: install failed`;
const sectors = `Signature not found; skipping verification as requested

Error: source has sector size 4096 but destination has sector size 512

Resetting partition table
Error: install failed`;
// error-chain and the message of coreos-installer before 0.10 (its `install.rs`).
const oldSectors = `Error: source has sector size 4096 but destination has sector size 512
Clearing partition table
Error: install failed`;
const noPartitions = `
Error: couldn't find any partitions on /dev/sda

Resetting partition table
Error: install failed`;
const gpg = `Error: decoding and writing image

Caused by:
    Broken pipe (os error 32)

Resetting partition table
Error: install failed`;
const refused = `Error: fetching image URL

Caused by:
    0: fetching 'http://127.0.0.1:4711/metal.raw.gz'
    1: error sending request for url (http://127.0.0.1:4711/metal.raw.gz)
    2: Connection refused (os error 111)`;

const ended = (text: string, more: { exitCode?: number; isRelayUnasked?: boolean } = {}) => {
  const { exitCode = 1, isRelayUnasked = false } = more;
  const cause = hostFailure('command.failed', 'exit code', { context: { exitCode } });
  return writerFailure(
    cause,
    { path: '/dev/sda', serial: 'LAB01' },
    text.split('\n'),
    isRelayUnasked,
  );
};

describe('what the writer said', () => {
  it.each([
    ['the kernel holds the disk', reread, 'disk.busy'],
    ['there is no partition', noPartitions, 'image.no-boot-partition'],
    ['gpg ended before the image did', gpg, 'image.bad-signature'],
    ['gpg refused', 'Error: GPG verification failure', 'image.bad-signature'],
    [
      'there is no udev',
      'Error: udevd socket missing; are we running in a container',
      'image.no-udev',
    ],
    [
      'something follows the image',
      'Error: found trailing data after compressed stream',
      'image.corrupt',
    ],
    [
      'the disk is broken',
      'Error: x\n\nCaused by:\n    Input/output error (os error 5)',
      'image.disk-error',
    ],
    [
      'the live medium has none',
      'Error: cannot perform offline install; metadata missing',
      'image.no-live-image',
    ],
    [
      'a kept partition is in the way',
      'Caused by:\n    collision with partition 5 at offset 1',
      'image.collides',
    ],
    ['something new', 'Error: a sentence nobody knows', 'image.writer-failed'],
    ['nothing', '', 'image.writer-failed'],
  ])('%s', (_, text, code) => {
    expect(ended(text)).toMatchObject({ code, context: { disk: '/dev/sda', exitCode: 1 } });
  });

  it('is told without what follows it, by an older writer too', () => {
    const message =
      'write to /dev/sda (serial LAB01) failed: source has sector size 4096 but destination has sector size 512';
    expect(ended(sectors)).toMatchObject({ message });
    expect(ended(oldSectors)).toMatchObject({ code: 'image.wrong-sector-size', message });
  });

  it('is no sentence but bad usage with exit code 2', () => {
    expect(ended("error: unexpected argument '--nope' found", { exitCode: 2 })).toMatchObject({
      code: 'image.writer-arguments',
      kind: 'input',
    });
  });

  it('means, when nobody asked the relay, that the networks differ', () => {
    expect(ended(refused, { isRelayUnasked: true })).toMatchObject({
      code: 'image.relay-unreachable',
      kind: 'host',
    });
    expect(ended(busy, { isRelayUnasked: true })).toMatchObject({ code: 'disk.busy' });
  });

  it('is reported in one line, with what holds the disk', () => {
    const { message } = ended(busy);
    expect(message).not.toContain('\n');
    expect(message).toContain('/dev/sda1 mounted on /var/mnt');
    expect(message).toContain('/dev/sda2 in use by /dev/dm-0');
    expect(ended(cut).message).toMatch(/end of file before message length reached$/);
  });
});

const recorded = (name: string, folder = 'coreos-installer'): string =>
  readFileSync(resolve(import.meta.dirname, `../../../mocks/logs/${folder}/${name}.txt`), 'utf8');

describe('what the real coreos-installer was recorded to say', () => {
  it.each([
    ['busy-disk', 'disk.busy'],
    ['no-space', 'image.too-large'],
    ['sector-size-mismatch', 'image.wrong-sector-size'],
    ['cut-download', 'image.cut'],
    ['bad-image', 'image.corrupt'],
    ['truncated-image', 'image.corrupt'],
    ['missing-signature', 'image.bad-signature'],
    ['not-found', 'image.unreachable'],
  ])('%s', (name, code) => {
    expect(ended(recorded(name))).toMatchObject({ code });
  });

  it('a DASD that another system has open', () => {
    expect(ended(recorded('dasd-in-use', 's390x'))).toMatchObject({
      code: 'disk.busy',
      message: expect.stringContaining('Disk in use') as string,
    });
  });
});
