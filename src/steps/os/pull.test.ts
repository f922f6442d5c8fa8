import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { minutes } from '../../model/duration.ts';
import { runPull } from './stage.ts';

const argv = ['bootc', 'switch', '--quiet', 'registry.example/os:2'];

/** Runs a pull that never ends by itself; each poll sees this many bytes more. */
function pulling(bytesEach: number, running = '7 /usr/bin/skopeo experimental-image-proxy') {
  const clock = fakeClock({ auto: false });
  const host = fakeHost({ clock });
  let bytes = 0;
  host
    .on(argv)
    .hangs()
    .on(['rpm-ostree', 'cancel'])
    .succeeds()
    .on(['pgrep', rest])
    .answers(() => {
      bytes += bytesEach;
      host.withFile('/proc/7/io', `rchar: ${bytes}\nwchar: 0\nsyscr: 1\n`);
      return `${running}\n9 bootc switch`;
    });
  const config = { image: 'registry.example/os:2' };
  const scope = { host, clock, config, signal: new AbortController().signal } as const;
  const pull = (driver: 'bootc' | 'rpm-ostree') =>
    runPull({ ...scope, note: () => undefined, progress: () => undefined } as never, driver, argv);
  const later = async (many: number): Promise<void> => {
    for (let minute = 0; minute < many; minute += 1) await clock.advance(minutes(1));
  };
  return { host, pull, later };
}

describe('a pull', () => {
  it('is cancelled when no data arrives for five minutes', async () => {
    const { host, pull, later } = pulling(1000);
    const failed = expect(pull('rpm-ostree')).rejects.toMatchObject({
      code: 'os.pull-cut',
      message: 'registry.example/os:2: no byte came for five minutes',
    });
    const isCancelled = () => host.ran.some(([, word]) => word === 'cancel');
    // The first poll, a minute after the start, sees the last byte.
    await later(5);
    expect(isCancelled()).toBe(false);
    await later(1);
    expect(isCancelled()).toBe(true);
    await failed;
    expect(host.ran.at(-1)).toEqual(['rpm-ostree', 'cancel']);
  });

  it.each([
    ['that receives data', 100_000, undefined],
    ['without a running download', 0, '9 bootc switch'],
  ])('%s is not cancelled as stalled', async (_, bytes, running) => {
    const { pull, later } = pulling(bytes, running);
    const failed = expect(pull('bootc')).rejects.toMatchObject({ code: 'command.timed-out' });
    await later(61);
    await failed;
  });
});
