import { beforeEach, describe, expect, it } from 'vitest';
import { unitsOf } from '../../../mocks/host/units.ts';
import { type BootstrapMirror, deskApp } from './desk.ts';

let taken: Uint8Array[];
let log: string;
let units: BootstrapMirror['units'];

function ask(path: string, body?: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  const mirror = {
    files: { root: '/', real: (place: string) => Promise.resolve(place) },
    units,
    take: (tar: Uint8Array) => {
      taken.push(tar);
      return Promise.resolve();
    },
    configServerLogFrom: (byte: number) => Promise.resolve(Buffer.from(log).subarray(byte)),
  };
  const app = deskApp(mirror, { holdMillis: 0, pollEveryMillis: 1 });
  const options = body === undefined ? {} : { method: 'POST', body };
  return Promise.resolve(app.request(path, options));
}

beforeEach(() => {
  taken = [];
  log = '';
  units = unitsOf([], ['bootkube.service', 'progress.service']);
});

describe('the desk of the lab', () => {
  it('takes the files of a host before its unit counts as started', async () => {
    const seen: number[] = [];
    units.onStart.set('bootkube.service', (become) => {
      seen.push(taken.length);
      become('active');
    });
    const { status } = await ask('/units/bootkube.service', new Uint8Array([1, 2]));
    expect([status, seen]).toEqual([204, [1]]);
  });

  it('takes no files where none are given', async () => {
    await ask('/units/progress.service', '');
    expect([taken, units.isActive('progress.service')]).toEqual([[], true]);
  });

  it('knows no other units', async () => {
    expect((await ask('/units/kubelet.service', '')).status).toBe(404);
  });

  it('says the end of a unit when it has come, and to ask again before', async () => {
    await ask('/units/progress.service', '');
    const before = await ask('/units/progress.service/end');
    units.become('progress.service', 'inactive');
    const after = await ask('/units/progress.service/end');
    expect([before.status, after.status, await after.text()]).toEqual([503, 200, 'inactive\n']);
  });

  it('gives what is new in the log, and says to ask again where nothing is', async () => {
    expect((await ask('/config-server-log?from=0')).status).toBe(503);
    log = 'one\ntwo\n';
    expect(await (await ask('/config-server-log?from=4')).text()).toBe('two\n');
    expect((await ask('/config-server-log?from=8')).status).toBe(503);
  });

  it('makes of an Ignition what has to be done', async () => {
    const answer = await ask('/once-from', '{"ignition":{"version":"3.2.0"}}');
    expect(await answer.text()).toBe('set -euo pipefail\n');
  });

  it('fails for what is no Ignition, and says why', async () => {
    const answer = await ask('/once-from', '{}');
    expect([answer.status, await answer.text()]).toEqual([500, expect.stringMatching(/version/)]);
  });
});
