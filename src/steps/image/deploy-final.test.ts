import { describe, expect, it } from 'vitest';
import { commandFailed, commandStopped } from '../../adapters/host/command-failures.ts';
import { pullSamples } from '../../../test/support/os-samples.ts';
import { canPivotAtFirstBoot, deployFailure } from './deploy-final.ts';

const image = 'registry.example:5000/os@sha256:1';
const { otherArchitecture, noRoom, cut, gone } = pullSamples;

const failed = (stderr: string): Error =>
  commandFailed({ argv: ['ostree'], duration: 1, stderr }, { exitCode: 1 });

describe('deployFailure', () => {
  it.each([
    ['another architecture', otherArchitecture, 'image.wrong-architecture', false],
    ['a disk that is too small', noRoom, 'image.no-room', false],
    ['a pull that is cut', cut, 'image.pull-cut', true],
    ['a registry that is gone', gone, 'image.registry-unreachable', true],
    ['something else', 'error: Bootloader write config: x', 'image.deploy-failed', true],
  ])('tells %s, and whether the node can still get there by itself', (...row) => {
    const [, stderr, code, can] = row;
    const failure = deployFailure(failed(stderr), image);
    expect(failure).toMatchObject({ code, context: { image } });
    expect(canPivotAtFirstBoot(failure)).toBe(can);
  });

  it('leaves what is not of the program as it is', () => {
    const stopped = commandStopped({ argv: ['ostree'], duration: 1 }, 'enough');
    expect(deployFailure(stopped, image)).toBe(stopped);
    expect(canPivotAtFirstBoot(stopped)).toBe(true);
  });
});
