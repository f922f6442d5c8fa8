import { describe, expect, it } from 'vitest';
import {
  imageOf,
  recorded,
  rhcosDeployment,
  rhcosImage,
  rpmOstreeDeployment,
  rpmOstreeOutput,
  sum,
} from '../../test/support/os-samples.ts';
import { argumentsIn, changedArguments } from './kernel-arguments.ts';
import {
  readRpmOstreeStatus,
  rpmOstreeArgumentsArgv,
  rpmOstreeChangeArgv,
  rpmOstreeDropArgv,
  rpmOstreeStageArgv,
} from './rpm-ostree.ts';
import { isSameDeployment, nextOf } from './status.ts';

const read = (deployments: readonly object[], transaction?: unknown) =>
  readRpmOstreeStatus(rpmOstreeOutput(deployments, transaction));
const answered = (name: string): string => recorded(`rpm-ostree-2026.2/${name}`);

describe('rpm-ostree status', () => {
  it('reads the deployment of an OpenShift node', () => {
    expect(read([rhcosDeployment])).toMatchObject({
      booted: {
        image: rhcosImage,
        digest: rhcosDeployment['container-image-reference-digest'],
        checksum: rhcosDeployment.checksum,
        stateroot: 'rhcos',
        serial: 0,
        isPinned: false,
        verification: 'none',
        index: 0,
      },
      others: [],
      isBusy: false,
    });
  });

  it('reads recorded output and tells deployments of one commit apart', () => {
    const [before, after] = ['staged', 'arguments'].map((name) =>
      readRpmOstreeStatus(answered(`status-${name}.json`)),
    );
    expect(before).toMatchObject({
      booted: { image: '10.0.2.2:5000/lab/os:1', serial: 0 },
      staged: { image: '10.0.2.2:5000/lab/os:2', version: '2.0.0', serial: 0, index: 0 },
    });
    // Another deployment of the same commit, with other kernel arguments.
    expect(isSameDeployment(before?.staged, after?.staged)).toBe(false);
    expect(before?.staged?.checksum).toBe(after?.staged?.checksum);
    expect(nextOf(readRpmOstreeStatus(answered('status-fresh.json')))).toBeUndefined();
  });

  it('reads a locked deployment that the next boot does not use', () => {
    const staged = { staged: true, 'finalization-locked': true };
    const status = read([
      rpmOstreeDeployment('2', staged),
      rpmOstreeDeployment('1', { booted: true }),
    ]);
    expect(status.staged).toMatchObject({ image: imageOf('2'), isLocked: true });
    expect(nextOf(status)).toBeUndefined();
  });

  const booted = rpmOstreeDeployment('1', { booted: true });
  it.each([
    [
      'a staged deployment',
      [rpmOstreeDeployment('2', { staged: true }), booted, rpmOstreeDeployment('0')],
      { staged: sum('2'), booted: sum('1'), rollback: sum('0') },
    ],
    [
      'a queued rollback',
      [rpmOstreeDeployment('0'), booted],
      { pending: sum('0'), booted: sum('1') },
    ],
    [
      'a pinned deployment besides the rollback',
      [booted, rpmOstreeDeployment('0'), rpmOstreeDeployment('a', { pinned: true })],
      { booted: sum('1'), rollback: sum('0'), others: [sum('a')] },
    ],
    [
      'a deployment of another stateroot',
      [booted, rpmOstreeDeployment('a', { osname: 'install' })],
      { booted: sum('1'), others: [sum('a')] },
    ],
  ])('reads %s', (_, deployments, expected) => {
    const { isBusy, others, ...named } = read(deployments);
    const checksums = Object.entries(named).flatMap(([name, deployment]) =>
      typeof deployment === 'object' ? [[name, deployment.checksum] as const] : [],
    );
    expect(isBusy).toBe(false);
    expect({
      others: others.map(({ checksum }) => checksum),
      ...Object.fromEntries(checksums),
    }).toEqual({ others: [], ...expected });
  });

  it('reads the base checksum of a layered deployment and no image for a bare commit', () => {
    const layered = { 'base-checksum': sum('b'), 'container-image-reference': undefined };
    const status = read([rpmOstreeDeployment('1', { booted: true, ...layered })]);
    expect(status.booted).toMatchObject({ checksum: sum('b') });
    expect(status.booted?.image).toBeUndefined();
  });

  it('is busy during a transaction', () => {
    expect(read([booted], ['upgrade', ':1.5', '/']).isBusy).toBe(true);
  });

  it.each(['', '{}', 'error: x'])('refuses %j', (stdout) => {
    expect(() => readRpmOstreeStatus(stdout)).toThrow(
      expect.objectContaining({ code: 'os.status-not-read' }),
    );
  });
});

describe('the commands of rpm-ostree', () => {
  const image = imageOf('2');
  const rebase = ['rpm-ostree', 'rebase', '--experimental'];
  it.each([
    ['switch', 'none', [...rebase, `ostree-unverified-registry:${image}`]],
    ['switch', 'policy', [...rebase, `ostree-image-signed:docker://${image}`]],
    ['upgrade', 'none', ['rpm-ostree', 'upgrade']],
  ] as const)('%s, verified by %s', (kind, verification, argv) => {
    expect(rpmOstreeStageArgv(kind, { image, verification })).toEqual(argv);
  });

  it.each([
    // The operator removes all arguments of its MachineConfig; the command names only those that
    // are present.
    ['p, a', 'a, gone', 'a', undefined],
    ['p, a, q', 'a', 'a', '--delete-if-present=a, --append=a'],
    [
      'a, b',
      'a, b',
      'b, a',
      '--delete-if-present=a, --delete-if-present=b, --append=b, --append=a',
    ],
    ['x, p, x', 'x', '', '--delete-if-present=x'],
    ['x', 'x, x', 'y', '--delete-if-present=x, --append=y'],
    ['a=5', 'a', 'a=', '--append=a='],
    [
      'n="all", d="file x/* +p"',
      'd="file x/* +p"',
      'n=all',
      '--delete-if-present=d="file x/* +p", --append=n=all',
    ],
  ])('change %s by removing %s and appending %s', (...[present, remove, append, argv]) => {
    const list = (text: string) => (text === '' ? [] : text.split(', '));
    const change = { append: list(append), remove: list(remove) };
    expect(rpmOstreeChangeArgv(list(present), change)?.slice(2)).toEqual(argv?.split(', '));
  });

  it('change kernel arguments to those that were recorded', () => {
    const present = argumentsIn(answered('kargs.txt'));
    const change = { append: ['lab.a=1', 'lab.b="x y"'], remove: ['rw'] };
    expect(rpmOstreeChangeArgv(present, change)).toEqual([
      ...['rpm-ostree', 'kargs', '--delete-if-present=rw'],
      ...['--append=lab.a=1', '--append=lab.b="x y"'],
    ]);
    const staged = argumentsIn(answered('kargs-staged.txt'));
    expect(staged).toEqual(changedArguments(present, change).all);
  });

  it('list the arguments of the next deployment, of one by index or of a stateroot', () => {
    const args = (of?: Parameters<typeof rpmOstreeArgumentsArgv>[0]) =>
      rpmOstreeArgumentsArgv(of).join(' ');
    expect([args(), args(0), args(1), args({ stateroot: 'a' })]).toEqual([
      ...['rpm-ostree kargs', 'rpm-ostree kargs', 'rpm-ostree kargs --deploy-index=1'],
      'rpm-ostree kargs --os=a',
    ]);
  });

  it('drop a staged deployment or a queued rollback without removing the rollback', () => {
    const dropped = (other: object) =>
      rpmOstreeDropArgv(read([other, rpmOstreeDeployment('1', { booted: true })]));
    const staged = rpmOstreeDeployment('2', { staged: true });
    expect(dropped(staged)).toEqual(['rpm-ostree', 'cleanup', '--pending']);
    expect(dropped(rpmOstreeDeployment('0'))).toEqual(['rpm-ostree', 'rollback']);
  });
});
