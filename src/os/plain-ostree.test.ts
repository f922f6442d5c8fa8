import { describe, expect, it } from 'vitest';
import { imageOf, originFile, ostreeStagedOutput, sum } from '../../test/support/os-samples.ts';
import { plainOstree, writableArgv } from './plain-ostree.ts';

const digestOf = (digit: string) => `'sha256:${sum(digit)}'`;
const details = ['2', '1', '0'].flatMap((digit) => [originFile(digit), digestOf(digit)]);

describe('ostree admin status', () => {
  it('asks for the origin and the digest of each deployment', () => {
    expect(plainOstree.detailArgvs(ostreeStagedOutput).slice(0, 2)).toEqual([
      ['cat', `/ostree/deploy/rhcos/deploy/${sum('2')}.0.origin`],
      [
        ...['ostree', 'show', '--repo=/ostree/repo', '--print-metadata-key=ostree.manifest-digest'],
        sum('2'),
      ],
    ]);
  });

  // The adapter takes the blanks off the beginning of what a command prints.
  it.each([ostreeStagedOutput, ostreeStagedOutput.trim()])('reads %#', (stdout) => {
    const status = plainOstree.readStatus(stdout, details);
    expect(status.staged).toMatchObject({ image: imageOf('2'), index: 0 });
    expect(status.booted).toEqual({
      image: imageOf('1'),
      digest: `sha256:${sum('1')}`,
      checksum: sum('1'),
      version: '1.0.0',
      stateroot: 'rhcos',
      isPinned: false,
      verification: 'none',
      index: 1,
    });
    expect(status.rollback).toMatchObject({ checksum: sum('0'), index: 2 });
  });

  it('tells a rollback that is queued, pins, and a commit without an image', () => {
    const stdout = [
      `  rhcos ${sum('0')}.0 (pending)`,
      `* rhcos ${sum('1')}.0`,
      `  rhcos ${sum('2')}.0 (rollback)`,
      `  rhcos ${sum('3')}.0`,
      '    Pinned: yes',
    ].join('\n');
    const status = plainOstree.readStatus(stdout, ['[origin]\nrefspec=x:y\n', '']);
    expect(status.pending).toEqual({
      checksum: sum('0'),
      stateroot: 'rhcos',
      isPinned: false,
      verification: 'none',
      index: 0,
    });
    expect(status.others).toMatchObject([{ checksum: sum('3'), isPinned: true }]);
  });

  it.each(['', 'No deployments.', `  rhcos ${sum('0')}.0`])('refuses %j', (stdout) => {
    expect(() => plainOstree.readStatus(stdout, [])).toThrow(
      expect.objectContaining({ code: 'os.status-not-read' }),
    );
  });
});

describe('the commands of ostree', () => {
  const order = { image: imageOf('2'), verification: 'none', stateroot: 'rhcos' } as const;
  const deploy = [
    ...['ostree', 'container', 'image', 'deploy', '--sysroot', '/', '--stateroot', 'rhcos'],
    ...['--imgref', `ostree-unverified-registry:${imageOf('2')}`],
  ];

  it('gives the command to a fixed script as words', () => {
    const [script, name, ...command] = writableArgv(['a b', '$(c)']).slice(4);
    expect(writableArgv([]).slice(0, 4)).toEqual(['unshare', '--mount', 'sh', '-c']);
    expect(script).toBe(writableArgv([])[4]);
    expect(script).toMatch(/ exec "\$@"$/);
    expect([name, ...command]).toEqual(['sh', 'a b', '$(c)']);
  });

  it.each(['switch', 'upgrade'] as const)('deploys for a %s', (kind) => {
    expect(plainOstree.stageArgvs({ ...order, kind })).toEqual([writableArgv(deploy)]);
  });

  it('gives the whole list when one kernel argument changes', () => {
    const kernelArguments = { append: ['a=1'], remove: ['quiet'] };
    const present = ['root=LABEL=root', 'quiet', 'rw'];
    expect(plainOstree.stageArgvs({ ...order, kind: 'keep', kernelArguments, present })).toEqual([
      writableArgv([...deploy, '--karg', 'root=LABEL=root', '--karg', 'rw', '--karg', 'a=1']),
    ]);
  });

  it('removes older deployments from the last on, and what they alone had', () => {
    const at = (index: number, more: object = {}) => ({
      ...{ checksum: sum('a'), stateroot: 'rhcos', isPinned: false, index },
      ...{ verification: 'none' as const, ...more },
    });
    const status = {
      booted: at(0),
      others: [at(2), at(3, { isPinned: true }), at(4, { stateroot: 'install' }), at(5)],
      isBusy: false,
    };
    const prune = ['ostree', 'container', 'image', 'prune-images', '--sysroot=/', '--full'];
    expect(plainOstree.cleanArgvs(status)).toEqual([
      writableArgv(['ostree', 'admin', 'undeploy', '5']),
      writableArgv(['ostree', 'admin', 'undeploy', '2']),
      writableArgv(prune),
    ]);
  });

  it('goes back by place', () => {
    const status = plainOstree.readStatus(ostreeStagedOutput, details);
    expect(plainOstree.rollbackArgvs(status)).toEqual([
      writableArgv(['ostree', 'admin', 'set-default', '2']),
    ]);
    expect(plainOstree.dropNextArgvs(status)).toEqual([
      writableArgv(['ostree', 'admin', 'undeploy', '0']),
    ]);
  });
});
