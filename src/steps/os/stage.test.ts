import { describe, expect, it } from 'vitest';
import { commandFailed, commandStopped } from '../../adapters/host/command-failures.ts';
import { pullSamples } from '../../../test/support/os-samples.ts';
import { stageFailure } from './stage.ts';

const image = 'registry.example:5000/os@sha256:1';

const failed = (stderr: string): Error =>
  commandFailed({ argv: ['bootc'], duration: 1, stderr }, { exitCode: 1 });

describe('an image that could not be staged', () => {
  it.each([
    ['another architecture', pullSamples.otherArchitecture, 'os.wrong-architecture'],
    ['a disk that is too small', pullSamples.noRoom, 'os.no-space'],
    ['a pull that is cut', pullSamples.cut, 'os.pull-cut'],
    ['a registry that dies in the middle', pullSamples.died, 'os.image-unreachable'],
    ['a registry that is gone', pullSamples.gone, 'os.image-unreachable'],
  ])('is told by its reason: %s', (_, stderr, code) => {
    const failure = stageFailure(failed(stderr), image);
    expect(failure).toMatchObject({ code, context: { image } });
    expect(failure.message).not.toContain('Caused by');
  });

  it('is told as it was where the reason is another', () => {
    const other = failed('error: Bootloader write config: x');
    expect(stageFailure(other, image)).toBe(other);
    const stopped = commandStopped({ argv: ['bootc'], duration: 1 }, 'enough');
    expect(stageFailure(stopped, image)).toBe(stopped);
  });
});
