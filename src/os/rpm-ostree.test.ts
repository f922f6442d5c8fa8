import { describe, expect, it } from 'vitest';
import {
  imageOf,
  rhcosDeployment,
  rhcosImage,
  rpmOstreeDeployment,
  rpmOstreeOutput,
  sum,
} from '../../test/support/os-samples.ts';
import { rpmOstree } from './rpm-ostree.ts';

const read = (deployments: readonly object[], transaction?: unknown) =>
  rpmOstree.readStatus(rpmOstreeOutput(deployments, transaction), []);

describe('rpm-ostree status', () => {
  it('reads a node of OpenShift', () => {
    expect(read([rhcosDeployment])).toEqual({
      booted: {
        image: rhcosImage,
        digest: rhcosDeployment['container-image-reference-digest'],
        checksum: rhcosDeployment.checksum,
        stateroot: 'rhcos',
        isPinned: false,
        verification: 'none',
        index: 0,
      },
      others: [],
      isBusy: false,
    });
  });

  const booted = rpmOstreeDeployment('1', { booted: true });
  it.each<[string, object[], object]>([
    [
      'staged',
      [rpmOstreeDeployment('2', { staged: true }), booted, rpmOstreeDeployment('0')],
      { staged: sum('2'), booted: sum('1'), rollback: sum('0') },
    ],
    [
      'a queued rollback',
      [rpmOstreeDeployment('0'), booted],
      { pending: sum('0'), booted: sum('1') },
    ],
    [
      'a pinned one beside the rollback',
      [booted, rpmOstreeDeployment('0'), rpmOstreeDeployment('a', { pinned: true })],
      { booted: sum('1'), rollback: sum('0'), others: [sum('a')] },
    ],
    [
      'another stateroot',
      [booted, rpmOstreeDeployment('a', { osname: 'install' })],
      { booted: sum('1'), others: [sum('a')] },
    ],
  ])('tells %s', (_, deployments, expected) => {
    const { isBusy, others, ...named } = read(deployments);
    const checksums = Object.fromEntries(
      Object.entries(named).map(([name, deployment]) => [name, deployment?.checksum]),
    );
    expect(isBusy).toBe(false);
    expect({ others: others.map(({ checksum }) => checksum), ...checksums }).toEqual({
      others: [],
      ...expected,
    });
  });

  it('tells the base of a system with packages on top, and a bare commit', () => {
    const layered = { 'base-checksum': sum('b'), 'container-image-reference': undefined };
    const status = read([rpmOstreeDeployment('1', { booted: true, ...layered })]);
    expect(status.booted).toMatchObject({ checksum: sum('b') });
    expect(status.booted?.image).toBeUndefined();
  });

  it('is busy during a transaction', () => {
    expect(read([booted], ['upgrade', ':1.5', '/']).isBusy).toBe(true);
  });

  it.each(['', '{}', 'error: x'])('refuses %j', (stdout) => {
    expect(() => rpmOstree.readStatus(stdout, [])).toThrow(
      expect.objectContaining({ code: 'os.status-not-read' }),
    );
  });
});

describe('the commands of rpm-ostree', () => {
  const image = imageOf('2');
  const rebase = ['rpm-ostree', 'rebase', '--experimental'];
  const kargs = ['rpm-ostree', 'kargs', '--delete-if-present=b', '--append=a=1'];
  const kernelArguments = { append: ['a=1'], remove: ['b'] };
  it.each([
    ['switch', 'none', undefined, [[...rebase, `ostree-unverified-registry:${image}`]]],
    ['switch', 'policy', undefined, [[...rebase, `ostree-image-signed:docker://${image}`]]],
    [
      'switch',
      'none',
      kernelArguments,
      [[...rebase, `ostree-unverified-registry:${image}`], kargs],
    ],
    ['upgrade', 'none', undefined, [['rpm-ostree', 'upgrade']]],
    ['keep', 'none', kernelArguments, [kargs]],
  ] as const)(
    '%s, verified by %s, kernel arguments %j',
    (...[kind, verification, change, argvs]) => {
      const order = { kind, image, verification };
      expect(
        rpmOstree.stageArgvs(change === undefined ? order : { ...order, kernelArguments: change }),
      ).toEqual(argvs);
    },
  );

  it.each<[present: string[], remove: string[], append: string[], argv: string[]]>([
    // The operator names what its MachineConfig had, here what of it is there.
    [['p', 'a'], ['a', 'gone'], ['a'], []],
    [['p', 'a', 'q'], ['a'], ['a'], ['--delete-if-present=a', '--append=a']],
    [
      ['a', 'b'],
      ['a', 'b'],
      ['b', 'a'],
      ['--delete-if-present=a', '--delete-if-present=b', '--append=b', '--append=a'],
    ],
    [['x', 'p', 'x'], ['x'], [], ['--delete-if-present=x']],
    [['x'], ['x', 'x'], ['y'], ['--delete-if-present=x', '--append=y']],
    [['a=5'], ['a'], ['a='], ['--append=a=']],
    [
      ['n="all"', 'd="file x/* +p"'],
      ['d="file x/* +p"'],
      ['n=all'],
      ['--delete-if-present=d="file x/* +p"', '--append=n=all'],
    ],
  ])('%j without %j and with %j', (...[present, remove, append, argv]) => {
    const kernelArguments = { append, remove };
    const [kargs = []] = rpmOstree.stageArgvs({
      ...{ kind: 'keep', image, verification: 'none', kernelArguments, present },
    });
    expect(kargs.slice(2)).toEqual(argv);
  });

  it('asks for the arguments of what boots next, or of a deployment behind it', () => {
    expect(rpmOstree.argumentsArgv?.()).toEqual(['rpm-ostree', 'kargs']);
    expect(rpmOstree.argumentsArgv?.(0)).toEqual(['rpm-ostree', 'kargs']);
    expect(rpmOstree.argumentsArgv?.(1)).toEqual(['rpm-ostree', 'kargs', '--deploy-index=1']);
  });

  it('never removes the way back', () => {
    const status = read([rpmOstreeDeployment('1', { booted: true }), rpmOstreeDeployment('0')]);
    expect(rpmOstree.cleanArgvs(status)).toEqual([['rpm-ostree', 'cleanup', '--base']]);
    expect(rpmOstree.dropNextArgvs(status)).toEqual([['rpm-ostree', 'cleanup', '--pending']]);
    expect(rpmOstree.rollbackArgvs(status)).toEqual([['rpm-ostree', 'rollback']]);
  });
});
