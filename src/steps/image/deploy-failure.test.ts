import { describe, expect, it } from 'vitest';
import { commandFailed, commandStopped } from '../../adapters/host/command-failures.ts';
import { canPivotAtFirstBoot, deployFailure } from './deploy-failure.ts';

const image = 'registry.example:5000/os@sha256:1';

// What `ostree container image deploy` of ostree-rs-ext 0.15.3 printed, on a disk that was made so.
const otherArchitecture = `Error: Performing deployment

Caused by:
    0: Preparing import
    1: Fetching manifest
    2: Image has architecture arm64; expected amd64`;
const noRoom = `Error: Performing deployment

Caused by:
    0: Importing
    1: Parsing layer blob sha256:914ff936c9607254ea375c6ebeb2da4f1f74390f5ee030664406a8dca86ef332
    2: error: ostree-tar: Failed to handle file: ostree-tar: Failed to import file: Writing content object: min-free-space-percent '3%' would be exceeded, at least 734.0 MB requested
    3: Processing tar
    4: Failed to commit tar: ExitStatus(unix_wait_status(256))`;
const cut = `Error: Performing deployment

Caused by:
    0: Importing
    1: Unencapsulating base
    2: proxy failure: failed to invoke method FinishPipe: failed to invoke method FinishPipe: unexpected EOF (while reconnecting: Get "https://127.0.0.1:5444/v2/stage/lab/blobs/sha256:311a": EOF) and client error
    3: Importing commit
    4: incomplete deflate stream`;
const died = cut.replace(': EOF)', ': dial tcp 127.0.0.1:5444: connect: connection refused)');
const gone = `Error: Performing deployment

Caused by:
    0: Creating importer
    1: failed to invoke method OpenImage: failed to invoke method OpenImage: pinging container registry 127.0.0.1:5445: Get "https://127.0.0.1:5445/v2/": dial tcp 127.0.0.1:5445: connect: connection refused`;

const failed = (stderr: string): Error =>
  commandFailed({ argv: ['ostree'], duration: 1, stderr }, { exitCode: 1 });

describe('deployFailure', () => {
  it.each([
    ['another architecture', otherArchitecture, 'image.wrong-architecture', false],
    [
      'another architecture, of a list',
      'Error: no image found in image index for architecture s390x, variant "", OS linux',
      'image.wrong-architecture',
      false,
    ],
    ['a disk that is too small', noRoom, 'image.no-room', false],
    ['a pull that is cut', cut, 'image.pull-cut', true],
    ['a registry that dies in the middle', died, 'image.registry-unreachable', true],
    ['a registry that is gone', gone, 'image.registry-unreachable', true],
    ['something else', 'error: Bootloader write config: x', 'image.deploy-failed', true],
    ['silence', '', 'image.deploy-failed', true],
  ])('tells %s, and whether the node can still get there by itself', (...row) => {
    const [, stderr, code, can] = row;
    const failure = deployFailure(failed(stderr), image);
    expect(failure).toMatchObject({ code, context: { image } });
    expect(canPivotAtFirstBoot(failure)).toBe(can);
  });

  it.each([
    [noRoom, 'min-free-space-percent'],
    [cut, 'unexpected EOF'],
    ['Caused by:\n    0: Importing\n    1: it is Tuesday', 'it is Tuesday'],
  ])('says the cause and not what led there', (stderr, words) => {
    const { message } = deployFailure(failed(stderr), image);
    expect(message).toContain(words);
    expect(message).not.toContain('Importing');
  });

  it('leaves what is not of the program as it is', () => {
    const stopped = commandStopped({ argv: ['ostree'], duration: 1 }, 'enough');
    expect(deployFailure(stopped, image)).toBe(stopped);
    expect(canPivotAtFirstBoot(stopped)).toBe(true);
  });
});
