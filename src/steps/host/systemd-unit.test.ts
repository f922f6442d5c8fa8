import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { hours } from '../../model/duration.ts';
import {
  busLabel,
  parseUnitProperties,
  readUnitProperties,
  unitMonitorArgv,
  unitTexts,
  unitStatus,
  unitWatch,
} from './systemd-unit.ts';

const { signal } = new AbortController();
const monitor = ['busctl', rest] as const;

describe('busLabel', () => {
  it.each([
    ['bootkube.service', 'bootkube_2eservice'],
    ['node-image-pull.service', 'node_2dimage_2dpull_2eservice'],
    ['getty@tty1.service', 'getty_40tty1_2eservice'],
    ['9p.mount', '_39p_2emount'],
    ['ü.service', '_c3_bc_2eservice'],
    ['', '_'],
  ])('for %s is %s', (name, label) => {
    expect(busLabel(name)).toBe(label);
  });
});

describe('unitWatch', () => {
  it('subscribes to the changes of each unit', () => {
    const argv = unitMonitorArgv(['a.service', 'b.service']);
    expect(argv).toHaveLength(5);
    expect(argv[2]).toBe(
      "--match=type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1/unit/a_2eservice',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
    );
    expect(argv[3]).toContain('/unit/b_2eservice');
  });

  it('notifies about output and ends with its signal', async () => {
    const stop = new AbortController();
    const host = fakeHost().on(monitor).hangs('Monitoring bus message stream.');
    let notified = 0;
    const watching = unitWatch(host, ['a.service'])(() => {
      notified += 1;
      queueMicrotask(() => stop.abort());
    }, stop.signal);
    await watching;
    expect(notified).toBe(1);
    expect(host.calls[0]?.limit).toBe(hours(24));
  });

  it.each([
    ['is missing', fakeHost().on(monitor).isMissing()],
    ['cannot connect to the bus', fakeHost().on(monitor).fails(1, 'Failed to connect to bus')],
  ])('ends without an error when busctl %s', async (_, host) => {
    await expect(unitWatch(host, ['a.service'])(() => undefined, signal)).resolves.toBeUndefined();
  });

  it('throws errors of our own', async () => {
    await expect(unitWatch(fakeHost(), ['a.service'])(() => undefined, signal)).rejects.toThrow(
      'does not know',
    );
  });
});

describe('unitStatus', () => {
  it('is the output of systemctl for a dead unit', async () => {
    const host = fakeHost().on(['systemctl', 'status', 'a.service']).fails(3, '', 'a: dead');
    expect(await unitStatus(host, 'a.service', signal)).toBe('a: dead');
  });
});

describe('the properties of a unit', () => {
  it.each([
    ['ActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n', 'x.service is running'],
    // systemd prints the properties in its own order.
    [
      'Result=exit-code\nNRestarts=2\nActiveState=activating\nSubState=auto-restart\n',
      'x.service failed (exit-code) and was restarted',
    ],
    [
      'NRestarts=1\nResult=start-limit-hit\nActiveState=failed\nSubState=failed',
      'x.service failed (start-limit-hit) and was restarted',
    ],
    ['ActiveState=inactive\nSubState=dead\nResult=success', 'x.service is inactive'],
    ['', 'the state of x.service is unknown (systemctl: command.unreadable)'],
  ])('%j reads: %s', (stdout, words) => {
    expect(unitTexts('x.service')(parseUnitProperties(stdout))).toBe(words);
  });

  it.each([
    ['fails', fakeHost().on(['systemctl', rest]).fails(1, 'Transport endpoint is not connected')],
    ['prints nothing', fakeHost().on(['systemctl', rest]).succeeds()],
    ['hangs', fakeHost({ clock: fakeClock() }).on(['systemctl', rest]).hangs()],
  ])('are unknown while systemctl %s', async (_, host) => {
    expect(await readUnitProperties(host, 'x.service', signal)).toMatchObject({ state: '' });
  });
});
