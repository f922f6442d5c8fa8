import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { parseUnitLife, readUnitLife, renderUnitLife, unitLifeArgv } from './unit-life.ts';

const { signal } = new AbortController();
const argv = [
  ...['systemctl', 'show', '--property=ActiveState,SubState,Result,NRestarts', 'x.service'],
];

describe('the life of a unit', () => {
  it.each([
    ['ActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n', 'x.service is running'],
    // systemd prints the properties in an order of its own.
    [
      'Result=exit-code\nNRestarts=2\nActiveState=activating\nSubState=auto-restart\n',
      'x.service is activating (exit-code), restarted 2 times',
    ],
    [
      'NRestarts=1\nResult=start-limit-hit\nActiveState=failed\nSubState=failed',
      'x.service is failed (start-limit-hit), restarted once',
    ],
    ['ActiveState=inactive\nSubState=dead\nResult=success', 'x.service is inactive'],
    ['', 'the state of x.service is not known'],
  ])('%j reads: %s', (stdout, words) => {
    expect(renderUnitLife('x.service', parseUnitLife(stdout))).toBe(words);
  });

  it('is asked for by one command', async () => {
    const host = fakeHost().on(argv).prints('ActiveState=active\nSubState=running');
    expect(unitLifeArgv('x.service')).toEqual(argv);
    expect(await readUnitLife(host, 'x.service', signal)).toMatchObject({ state: 'active' });
  });

  it('is not known while systemd does not answer', async () => {
    const host = fakeHost().on(argv).fails(1, 'Failed to connect to bus');
    expect(await readUnitLife(host, 'x.service', signal)).toMatchObject({ state: '' });
  });

  it('cannot be known without systemctl', async () => {
    const host = fakeHost().on(argv).isMissing();
    await expect(readUnitLife(host, 'x.service', signal)).rejects.toMatchObject({
      code: 'command.not-found',
    });
  });
});
