import { expect, it } from 'vitest';
import { bootcSaid, withEntries } from '../../../test/support/bootc-node.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { readBootcStatus } from '../../os/bootc.ts';
import { readArguments, readHost } from './read-host.ts';

const given = ['root=LABEL=root', 'rw', 'console=ttyS0', 'net.ifnames=0'];

it.each([
  ['booted', 'booted2', 'booted', [...given, 'lab.kargsd=1']],
  // The index 0 in `ostree=` now belongs to the rollback deployment.
  ['rollback-queued', 'swapped', 'booted', [...given, 'lab.kargsd=1']],
  ['rollback-queued', 'swapped', 'next', given],
  ['staged', 'booted2', 'next', undefined],
] as const)(
  'readArguments for %s with entries %s returns those of the %s deployment',
  async (...row) => {
    const [state, entries, of, expected] = row;
    const host = withEntries(fakeHost(), entries);
    const status = readBootcStatus(bootcSaid(`status-${state}.json`));
    const snapshot = { driver: 'bootc', reason: '', status, commandLine: '' } as const;
    const scope = { host, signal: new AbortController().signal };
    expect(await readArguments(scope, snapshot, of)).toEqual(expected);
  },
);

it.each([
  ['is missing', true, 'there is no rpm-ostree, and there is no bootc'],
  [
    'fails',
    false,
    'there is no rpm-ostree, and bootc ended with exit code 1: error: Loading sysroot',
  ],
])('readHost says without rpm-ostree that bootc %s', async (_, isMissing, message) => {
  const host = fakeHost();
  const bootc = host.on(['bootc', rest]);
  if (isMissing) bootc.isMissing();
  else bootc.fails(1, 'error: Loading sysroot');
  host.on(['rpm-ostree', rest]).isMissing().on(['test', rest]).succeeds();
  const scope = { host, signal: new AbortController().signal };
  await expect(readHost(scope)).rejects.toMatchObject({
    code: 'os.no-driver',
    message: expect.stringContaining(message) as string,
  });
});
