import { describe, expect, it } from 'vitest';
import { commandFailed, commandStopped } from '../../adapters/host/command-failures.ts';
import { pullSamples } from '../../../test/support/os-samples.ts';
import { canPivotAtFirstBoot, deployFailure, refuseOrigins } from './deploy-final.ts';

const image = 'registry.example:5000/os@sha256:1';
const { otherArchitecture, noRoom, cut, gone } = pullSamples;

const failed = (stderr: string): Error =>
  commandFailed({ argv: ['ostree'], duration: 1, stderr }, { exitCode: 1 });

describe('deployFailure', () => {
  it.each([
    ['another architecture', otherArchitecture, 'image.wrong-architecture', false],
    ['a full disk', noRoom, 'image.no-room', false],
    ['an interrupted pull', cut, 'image.pull-cut', true],
    ['an unreachable registry', gone, 'image.registry-unreachable', true],
    ['another error', 'error: Bootloader write config: x', 'image.deploy-failed', true],
  ])('classifies %s and whether the node can still pivot at the first boot', (...row) => {
    const [, stderr, code, can] = row;
    const failure = deployFailure(failed(stderr), image);
    expect(failure).toMatchObject({ code, context: { image } });
    expect(canPivotAtFirstBoot(failure)).toBe(can);
  });

  it('returns a stopped command unchanged', () => {
    const stopped = commandStopped({ argv: ['ostree'], duration: 1 }, 'enough');
    expect(deployFailure(stopped, image)).toBe(stopped);
    expect(canPivotAtFirstBoot(stopped)).toBe(true);
  });
});

const final = `quay.example/team/os@sha256:${'a'.repeat(64)}`;
const staging = '192.0.2.5:22626';
const source = `${staging}/os@sha256:1`;
const ofDisk = '[origin]\nrefspec=rhcos/x86_64/stable\n';
const origin = (image: string): string =>
  `[origin]\ncontainer-image-reference=ostree-unverified-registry:${image}\n`;

describe('refuseOrigins', () => {
  it.each([
    ['one image', origin(final)],
    ['one image twice', origin(final) + origin(final)],
    ['an image of an earlier run besides it', origin(`${final.slice(0, -1)}b`) + origin(final)],
  ])('accepts %s', (_, stdout) => {
    expect(() => refuseOrigins(ofDisk + stdout, { image: final, source })).not.toThrow();
  });

  it('accepts the final image pulled from another repository of its registry, but not that repository', () => {
    const near = 'quay.example/near/os@sha256:1';
    const check = (stdout: string) => () => refuseOrigins(stdout, { image: final, source: near });
    expect(check(origin(final))).not.toThrow();
    expect(check(origin(final) + origin(near))).toThrow();
  });

  it.each([
    ['no image', ofDisk, 'nothing'],
    ['another image', origin('quay.example/other'), 'quay.example/other'],
    ['the source of the pull', origin(source), source],
    [
      'another image of the source registry',
      origin(final) + origin(`${staging}/x`),
      `${staging}/x`,
    ],
  ])('refuses %s', (_, stdout, found) => {
    expect(() => refuseOrigins(stdout, { image: final, source })).toThrow(
      expect.objectContaining({ code: 'image.wrong-origin', context: { found, image: final } }),
    );
  });
});
