import { describe, expect, it } from 'vitest';
import { bootc, findBootc } from './bootc.ts';
import {
  bootcEntry,
  bootcNullOutput,
  bootcOutput,
  imageOf,
  sum,
} from '../../test/support/os-samples.ts';

const read = (status: object) => bootc.readStatus(bootcOutput(status), []);

describe('findBootc', () => {
  it.each([
    ['home', bootcOutput({ booted: bootcEntry('1') })],
    ['stranger', bootcNullOutput],
    ['stranger', bootcOutput({ booted: bootcEntry('1', { image: null }) })],
    ['stranger', bootcOutput({ booted: bootcEntry('1', { incompatible: true }) })],
    ['absent', 'error: not supported'],
    ['absent', '{"kind":"Other"}'],
  ])('%s: %s', (kind, stdout) => {
    expect(findBootc(stdout).kind).toBe(kind);
  });
});

describe('bootc status', () => {
  it('names what runs, what is staged, what a rollback leads to, and the rest', () => {
    const status = read({
      staged: bootcEntry('2'),
      booted: bootcEntry('1'),
      rollback: bootcEntry('0', { pinned: true }),
      otherDeployments: [bootcEntry('a')],
    });
    expect(status.booted).toEqual({
      image: imageOf('1'),
      digest: `sha256:${sum('1')}`,
      version: '41.1',
      checksum: sum('1'),
      stateroot: 'default',
      isPinned: false,
      verification: 'none',
    });
    expect(status.staged).toMatchObject({ image: imageOf('2'), index: 0 });
    expect(status.rollback).toMatchObject({ image: imageOf('0'), isPinned: true });
    expect(status.others.map(({ image }) => image)).toEqual([imageOf('a')]);
  });

  it('names a rollback that is queued as what boots next', () => {
    const status = read({
      booted: bootcEntry('1'),
      rollback: bootcEntry('0'),
      rollbackQueued: true,
    });
    expect(status.pending).toMatchObject({ image: imageOf('0') });
    expect(status.rollback).toBeUndefined();
  });

  it.each([
    [undefined, 'none'],
    ['insecure', 'none'],
    ['containerPolicy', 'policy'],
    [{ ostreeRemote: 'fedora' }, 'remote'],
  ])('reads the signature %j as %s', (signature, verification) => {
    const image = { image: { image: 'q.io/a:1', transport: 'registry', signature } };
    expect(read({ booted: bootcEntry('1', { image }) }).booted?.verification).toBe(verification);
  });

  it('keeps the transport of an image that is in no registry', () => {
    const image = { image: { image: '/var/x', transport: 'oci' } };
    expect(read({ booted: bootcEntry('1', { image }) }).booted?.image).toBe('oci:/var/x');
  });

  it('refuses what it does not understand', () => {
    expect(() => bootc.readStatus('null', [])).toThrow(
      expect.objectContaining({ code: 'os.status-not-read' }),
    );
  });
});

describe('the commands of bootc', () => {
  const order = { image: imageOf('2'), verification: 'none' } as const;
  it.each([
    ['switch', 'none', ['bootc', 'switch', '--quiet', '--transport', 'registry', imageOf('2')]],
    [
      'switch',
      'policy',
      [
        ...['bootc', 'switch', '--quiet', '--transport', 'registry'],
        ...['--enforce-container-sigpolicy', imageOf('2')],
      ],
    ],
    ['upgrade', 'none', ['bootc', 'upgrade', '--quiet']],
  ] as const)('%s, verified by %s', (kind, verification, argv) => {
    expect(bootc.stageArgvs({ ...order, kind, verification })).toEqual([argv]);
  });

  it('cannot change kernel arguments', () => {
    const kernelArguments = { append: ['a=1'], remove: [] };
    expect(() => bootc.stageArgvs({ ...order, kind: 'switch', kernelArguments })).toThrow(
      expect.objectContaining({ code: 'os.kernel-arguments-unsupported' }),
    );
  });

  it('drops what boots next in ostree, and nothing where there is none', () => {
    const staged = read({ booted: bootcEntry('1'), staged: bootcEntry('2') });
    expect(bootc.dropNextArgvs(staged)).toEqual([['ostree', 'admin', 'undeploy', '0']]);
    const queued = { booted: bootcEntry('1'), rollback: bootcEntry('0'), rollbackQueued: true };
    expect(bootc.dropNextArgvs(read(queued))).toEqual([['ostree', 'admin', 'undeploy', '0']]);
    expect(bootc.dropNextArgvs(read({ ...queued, rollbackQueued: false }))).toBeUndefined();
    const composefs = { ostree: null, composefs: { verity: sum('2') } };
    const other = read({ booted: bootcEntry('1'), staged: bootcEntry('2', composefs) });
    expect(bootc.dropNextArgvs(other)).toBeUndefined();
  });

  it('rolls back, and leaves garbage to bootc', () => {
    const status = read({ booted: bootcEntry('1'), rollback: bootcEntry('0') });
    expect(bootc.rollbackArgvs(status)).toEqual([['bootc', 'rollback']]);
    expect(bootc.cleanArgvs(status)).toEqual([]);
  });
});
