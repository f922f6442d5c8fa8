import { describe, expect, it } from 'vitest';
import {
  bootcArgumentsArgv,
  bootcDropArgv,
  bootcStageArgv,
  isRequiredFor,
  keepsArgumentSources,
  readBootcStatus,
  refusalOfBootc,
} from './bootc.ts';
import {
  bootcEntry,
  bootcNullOutput,
  bootcOutput,
  imageOf,
  recorded,
} from '../../test/support/os-samples.ts';
import { nextOf } from './status.ts';

const bootc = (name: string): string => recorded(`bootc-1.16.9/${name}`);
const read = (status: object) => readBootcStatus(bootcOutput(status));
const [one, two] = ['10.0.2.2:5000/lab/os:1', '10.0.2.2:5000/lab/os:2'];

it.each([
  [undefined, bootc('status-fresh.json')],
  [undefined, bootc('status-rollback-queued.json')],
  ['this host was not booted by bootc', bootcNullOutput],
  ['this host was not booted by bootc', bootcOutput({ booted: bootcEntry('1', { image: null }) })],
  [
    'packages are layered on the image, which bootc does not support',
    bootcOutput({ booted: bootcEntry('1', { incompatible: true }) }),
  ],
  ['bootc printed no status', 'error: Status: Unsupported format version: 2'],
  ['bootc printed no status', '{"kind":"Other"}'],
])('refusalOfBootc returns %s for %s', (because, stdout) => {
  expect(refusalOfBootc(stdout)).toBe(because);
});

describe('bootc status', () => {
  it('reads the booted and the staged deployment', () => {
    const status = readBootcStatus(bootc('status-staged.json'), bootc('reboot-required.txt'));
    expect(status).toMatchObject({
      booted: {
        image: one,
        digest: 'sha256:7197f28dd46c2904b71056cf950c3c383c79c8de5870f2b6f470cd2253fe1a15',
        version: '1.0.0',
        checksum: '5b8cdf0c70c245b3a54a2b7dd4ca7431f8efb95d9b9e3649397330a7e05376e7',
        stateroot: 'default',
        serial: 0,
        isPinned: false,
        verification: 'none',
      },
      staged: { image: two, version: '2.0.0', index: 0, isLocked: false },
      others: [],
      isBusy: false,
      followed: two,
      isUnfinished: false,
    });
  });

  it('reads the rollback deployment and the pinned deployments', () => {
    const { booted, rollback } = readBootcStatus(bootc('status-pinned.json'));
    expect([booted?.image, booted?.isPinned, rollback?.image]).toEqual([two, true, one]);
    const others = read({ booted: bootcEntry('1'), otherDeployments: [bootcEntry('a')] }).others;
    expect(others.map(({ image }) => image)).toEqual([imageOf('a')]);
  });

  it('reads a queued rollback as pending, and the image that an upgrade follows', () => {
    const { pending, rollback, followed } = readBootcStatus(bootc('status-rollback-queued.json'));
    expect([pending?.image, rollback, followed]).toEqual([one, undefined, two]);
    expect(nextOf(readBootcStatus(bootc('status-rollback-reverted.json')))).toBeUndefined();
  });

  it('reads a locked deployment that the next boot does not use', () => {
    const status = readBootcStatus(bootc('status-locked.json'), bootc('reboot-required.txt'));
    expect(status.staged).toMatchObject({ image: two, isLocked: true });
    expect(nextOf(status)).toBeUndefined();
  });

  it('reports an unfinished staging', () => {
    const failed = readBootcStatus(bootc('status-bound-failed.json'));
    expect(failed).toMatchObject({ staged: { image: '10.0.2.2:5000/lab/os:6' } });
    expect(failed.isUnfinished).toBe(true);
    const other = readBootcStatus(bootc('status-bound-failed.json'), bootc('reboot-required.txt'));
    expect(other.isUnfinished).toBe(true);
    // A change of kernel arguments needs no pull.
    expect(readBootcStatus(bootc('status-staged-arguments.json')).isUnfinished).toBe(false);
  });

  it('reports a read-only host', () => {
    expect(read({ booted: bootcEntry('1'), readOnly: true }).isReadOnly).toBe(true);
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

  it('keeps the transport of an image outside of registries', () => {
    const image = { image: { image: '/var/x', transport: 'oci' } };
    expect(read({ booted: bootcEntry('1', { image }) }).booted?.image).toBe('oci:/var/x');
  });

  it('refuses unreadable output', () => {
    expect(() => readBootcStatus('null')).toThrow(
      expect.objectContaining({ code: 'os.status-not-read' }),
    );
  });
});

it('/run/reboot-required requires a reboot only for the staged digest', () => {
  const text = bootc('reboot-required.txt');
  const { booted, staged } = readBootcStatus(bootc('status-staged.json'));
  expect(isRequiredFor(text, [staged?.digest])).toBe(true);
  expect(isRequiredFor(text, [booted?.digest, undefined])).toBe(false);
  expect(isRequiredFor('*** System restart required ***', [staged?.digest])).toBe(false);
});

describe('the commands of bootc', () => {
  it.each([
    ['switch', 'none', `bootc switch --quiet --transport registry ${imageOf('2')}`],
    [
      'switch',
      'policy',
      `bootc switch --quiet --transport registry --enforce-container-sigpolicy ${imageOf('2')}`,
    ],
    ['upgrade', 'none', 'bootc upgrade --quiet'],
  ] as const)('%s, verified by %s', (kind, verification, argv) => {
    const order = { image: imageOf('2'), verification };
    expect(bootcStageArgv(kind, order)).toEqual(argv.split(' '));
  });

  it.each([
    ['status-staged.json', 'ostree admin undeploy 0'],
    // `ostree admin undeploy` would delete the rollback deployment.
    ['status-rollback-queued.json', 'bootc rollback'],
    ['status-booted.json', undefined],
  ])('drop the next deployment of %s: %s', (name, argv) => {
    expect(bootcDropArgv(readBootcStatus(bootc(name)))?.join(' ')).toBe(argv);
  });

  it.each([
    ['1.16.9', '2026.4', true],
    ['1.15.2', '2026.1', true],
    ['1.15.1', '2026.4', false],
    ['2.0', '2027.1', true],
    ['1.16.9', '2025.7', false],
  ])('keep kernel arguments by source with bootc %s and ostree %s: %s', (own, under, keeps) => {
    const ostree = `libostree:\n Version: '${under}'\n Git: 0\n Features:`;
    expect(keepsArgumentSources(`bootc ${own}`, ostree)).toBe(keeps);
  });

  it('set the kernel arguments of the source bootwright, or remove all of them', () => {
    expect(keepsArgumentSources(bootc('version.txt'), "libostree:\n Version: '2026.4'")).toBe(true);
    const set = 'bootc loader-entries set-options-for-source --source bootwright'.split(' ');
    expect(bootcArgumentsArgv(['a=1', 'b'])).toEqual([...set, '--options', 'a=1 b']);
    expect(bootcArgumentsArgv([])).toEqual(set);
  });
});
