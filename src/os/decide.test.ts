import { describe as group, expect, it } from 'vitest';
import { decideApply, decideRollback, describe } from './decide.ts';
import { imageOf, sum } from '../../test/support/os-samples.ts';
import type { OsDeployment, OsStatus } from './status.ts';

const tag = 'registry.example.com/os/node:1';
const deployment = (image: string, digit: string): OsDeployment => ({
  image,
  digest: `sha256:${sum(digit)}`,
  checksum: sum(digit),
  isPinned: false,
  verification: 'none',
});
const pinned = (digit: string) => deployment(imageOf(digit), digit);
const host = (status: Partial<OsStatus>): OsStatus => ({
  booted: pinned('1'),
  others: [],
  isBusy: false,
  ...status,
});
const digest = (digit: string) => `sha256:${sum(digit)}`;

group('decideApply', () => {
  it.each([
    ['booted', {}, imageOf('1'), undefined],
    // The digest of a manifest list differs from the digests of its manifests.
    ['booted', {}, imageOf('1'), digest('f')],
    ['switch', {}, imageOf('2'), digest('2')],
    ['switch', { rollback: pinned('2') }, imageOf('2'), undefined],
    ['staged', { staged: pinned('2') }, imageOf('2'), undefined],
    ['staged', { pending: pinned('0') }, imageOf('0'), undefined],
    ['booted', { booted: deployment(tag, '1') }, tag, digest('1')],
    ['upgrade', { booted: deployment(tag, '1') }, tag, digest('2')],
    ['upgrade', { booted: deployment(tag, '1') }, tag, undefined],
    ['staged', { staged: deployment(tag, '2') }, tag, digest('2')],
    ['upgrade', { staged: deployment(tag, '2') }, tag, digest('3')],
    ['upgrade', { staged: deployment(tag, '2') }, tag, undefined],
    ['unlock', { staged: { ...pinned('2'), isLocked: true } }, imageOf('2'), undefined],
    ['restage', { staged: { ...deployment(tag, '2'), isLocked: true } }, tag, digest('3')],
    ['restage', { staged: pinned('2'), isUnfinished: true }, imageOf('2'), undefined],
    // An upgrade would follow the name of the running image.
    ['switch', { pending: deployment(tag, '0'), followed: imageOf('1') }, tag, digest('3')],
  ])('%s', (...[decision, status, image, known]) => {
    expect(decideApply(host(status), { image, digest: known })).toBe(decision);
  });

  it.each([
    ['os.busy', { isBusy: true }],
    ['os.staged-by-another', { staged: pinned('3') }],
    ['os.staged-by-another', { pending: pinned('0') }],
    ['os.staged-by-another', { staged: { ...pinned('3'), isLocked: true } }],
    ['os.read-only', { isReadOnly: true }],
  ])('refuses with %s', (code, status) => {
    expect(() => decideApply(host(status), { image: imageOf('2') })).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

group('decideRollback', () => {
  it.each([
    ['drop-staged', { staged: pinned('2'), rollback: pinned('0') }],
    ['queued', { pending: pinned('0') }],
    ['swap', { rollback: pinned('0') }],
  ])('%s', (decision, status) => {
    expect(decideRollback(host(status))).toBe(decision);
  });

  it.each([
    ['os.busy', { isBusy: true, staged: pinned('2') }],
    ['os.nothing-to-roll-back', {}],
  ])('refuses with %s', (code, status) => {
    expect(() => decideRollback(host(status))).toThrow(expect.objectContaining({ code }));
  });
});

it('describes a deployment by its image, a bare commit by its checksum and version', () => {
  const { image, ...commit } = pinned('a');
  expect([describe(pinned('a')), describe(commit), describe({ ...commit, version: '4' })]).toEqual([
    image,
    `commit ${'a'.repeat(12)}`,
    `commit ${'a'.repeat(12)} (4)`,
  ]);
});
