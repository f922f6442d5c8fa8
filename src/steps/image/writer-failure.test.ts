// Output of coreos-installer 0.26, without its progress.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportOf } from '../../engine/failures.ts';
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
  const last = text.trim().split('\n').at(-1) ?? '';
  const ending = `coreos-installer ended with exit code ${exitCode}`;
  const cause = hostFailure('command.failed', last === '' ? ending : `${ending}: ${last}`, {
    context: { exitCode, stderr: text },
  });
  return writerFailure(
    cause,
    { path: '/dev/sda', serial: 'LAB01' },
    text.split('\n'),
    isRelayUnasked,
  );
};

describe('writerFailure', () => {
  it.each([
    ['the disk is busy', reread, 'disk.busy'],
    ['there are no partitions', noPartitions, 'image.no-boot-partition'],
    ['gpg ended early', gpg, 'image.bad-signature'],
    ['gpg failed', 'Error: GPG verification failure', 'image.bad-signature'],
    ['gpg checks in vain', 'Error: gpg: the check of a.sig failed', 'image.bad-signature'],
    ['gpg refuses', 'Error: the signature is not a valid one', 'image.bad-signature'],
    ['the disk is gone', 'Error: opening /dev/sdz\n\nCaused by:\n    (os error 2)', 'disk.missing'],
    [
      'there is no udev',
      'Error: udevd socket missing; are we running in a container',
      'image.no-udev',
    ],
    [
      'there is trailing data',
      'Error: found trailing data after compressed stream',
      'image.corrupt',
    ],
    [
      'there is an I/O error',
      'Error: x\n\nCaused by:\n    Input/output error (os error 5)',
      'image.disk-error',
    ],
    [
      'the live medium has no image',
      'Error: cannot perform offline install; metadata missing',
      'image.no-live-image',
    ],
    [
      'a kept partition collides',
      'Caused by:\n    collision with partition 5 at offset 1',
      'image.collides',
    ],
    ['the error is unknown', 'Error: a sentence nobody knows', 'image.writer-failed'],
    ['there is no output', '', 'image.writer-failed'],
  ])('classifies the output when %s', (_, text, code) => {
    expect(ended(text)).toMatchObject({ code, context: { disk: '/dev/sda' } });
  });

  it('reports bad usage for exit code 2', () => {
    expect(ended("error: unexpected argument '--nope' found", { exitCode: 2 })).toMatchObject({
      code: 'image.writer-arguments',
      kind: 'input',
    });
  });

  it('reports an unreachable relay when nothing asked it, unless the disk is busy', () => {
    for (const text of [refused, 'Error: unexpected EOF during chunk'])
      expect(ended(text, { isRelayUnasked: true })).toMatchObject({
        code: 'image.relay-unreachable',
        kind: 'host',
      });
    expect(ended(busy, { isRelayUnasked: true })).toMatchObject({ code: 'disk.busy' });
  });

  const causes = Array.from({ length: 14 }, (_, at) => `cause ${at}: x`);

  it.each([
    ['without causes', 'Error: one\n', 'one', undefined],
    ['behind an error of gpg', 'gpg: error: none\nError: one', 'one', undefined],
    [
      'with the last cause',
      'Error: one\n\nCaused by:\n    exit code 3: two',
      'one',
      'exit code 3: two',
    ],
    [
      'with a cause that names the partition table',
      'Error: one\n\nCaused by:\n    0: Resetting partition table\n    1: two\nResetting partition table\nError: install failed',
      'one',
      'Resetting partition table: two',
    ],
    ['without a remark on dasdfmt', 'Running dasdfmt: slow\nError: one', 'one', undefined],
    [
      'with eleven causes at most',
      `Error: one\n\nCaused by:\n${causes.map((cause, at) => `    ${at}: ${cause}`).join('\n')}`,
      'one',
      causes.slice(0, 11).join(': '),
    ],
  ])('reports the first error of the output %s', (...[, text, said, why]) => {
    const { message, ...report } = reportOf(ended(text));
    expect(message).toBe(`write to /dev/sda (serial LAB01) failed: ${said}`);
    expect(report.why).toBe(why);
  });
});

const recorded = (name: string, folder = 'coreos-installer'): string =>
  readFileSync(resolve(import.meta.dirname, `../../../mocks/logs/${folder}/${name}.txt`), 'utf8');

describe('writerFailure for recorded output of coreos-installer', () => {
  it.each([
    [
      'busy-disk',
      'disk.busy',
      'checking for exclusive access to /dev/vda',
      'found busy partitions: /dev/vdap3 mounted on /images/mnt',
    ],
    [
      'no-space',
      'image.too-large',
      'decoding and writing image',
      'No space left on device (os error 28)',
    ],
    [
      'sector-size-mismatch',
      'image.wrong-sector-size',
      'source has sector size 4096 but destination has sector size 512',
      undefined,
    ],
    [
      'cut-download',
      'image.cut',
      'decoding and writing image',
      'request or response body error: error reading a body from connection: end of file before message length reached',
    ],
    ['bad-image', 'image.corrupt', 'decoding first MiB of image', 'failed to fill whole buffer'],
    [
      'truncated-image',
      'image.corrupt',
      'decoding and writing image',
      'found trailing data after compressed stream',
    ],
    [
      'missing-signature',
      'image.bad-signature',
      '--insecure not specified and signature not found',
      undefined,
    ],
    [
      'not-found',
      'image.unreachable',
      'fetching image URL',
      "fetching 'http://images.example/absent.raw': HTTP status client error (404 Not Found) for url (http://images.example/absent.raw)",
    ],
  ])('classifies %s', (name, code, said, why) => {
    const { message, ...report } = reportOf(ended(recorded(name)));
    expect(message).toBe(`write to /dev/sda (serial LAB01) failed: ${said}`);
    expect(report).toMatchObject({ code });
    expect(report.why).toBe(why);
  });

  it('classifies a DASD that another system uses', () => {
    const { code, why } = reportOf(ended(recorded('dasd-in-use', 's390x')));
    expect(code).toBe('disk.busy');
    expect(why).toContain('Disk in use');
  });

  it('reports the end of a writer that was killed or has panicked', () => {
    const killed = hostFailure('command.failed', 'coreos-installer was ended by SIGKILL', {
      context: { signal: 'SIGKILL' },
    });
    const signature = 'Signature not found; skipping verification as requested';
    const lines = ['0'.repeat(3000), 'one', ' two', '', 'three', signature, ''];
    const disk = { path: '/dev/sda', serial: '' };
    expect(reportOf(writerFailure(killed, disk, lines, false))).toMatchObject({
      message: `write to /dev/sda failed: one: two: three: ${signature}`,
      why: 'coreos-installer was ended by SIGKILL',
      context: { stderr: lines.join('\n').slice(-2048) },
    });
    const panic =
      "thread 'main' panicked at src/blockdev.rs:1:2:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`";
    expect(reportOf(ended(panic, { exitCode: 101 }))).toMatchObject({
      message: expect.stringContaining('panicked at src/blockdev.rs') as string,
      why: expect.stringContaining('exit code 101') as string,
    });
  });

  it('reports the exit code when there is no output', () => {
    expect(reportOf(ended('\n \n'))).toMatchObject({
      message: expect.stringMatching(/gave no reason$/) as string,
      why: 'coreos-installer ended with exit code 1',
    });
  });
});
