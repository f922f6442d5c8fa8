import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOST_ROOT } from '../host-root.ts';
import { copyNames, hostLookup } from './host-lookup.ts';

let place: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'names-'));
  await mkdir(join(place, 'host/etc'), { recursive: true });
  await mkdir(join(place, 'etc'));
  await writeFile(join(place, 'etc/resolv.conf'), 'nameserver 10.0.0.1\n');
  await writeFile(join(place, 'etc/hosts'), '127.0.0.1 localhost\n10.0.0.9 added\n');
  await writeFile(join(place, 'host/etc/hosts'), '127.0.0.1 localhost\n10.0.0.5 api-int\n');
});
afterEach(() => rm(place, { recursive: true }));

const copy = (): Promise<boolean> => copyNames(join(place, 'host'), join(place, 'etc'));
const own = (name: string): Promise<string> => readFile(join(place, 'etc', name), 'utf8');

describe('copyNames', () => {
  it('copies resolv.conf again only after it has changed', async () => {
    await mkdir(join(place, 'host/run'));
    await symlink('/run/stub.conf', join(place, 'host/etc/resolv.conf'));
    await writeFile(join(place, 'host/run/stub.conf'), 'nameserver 127.0.0.53\n');
    expect(await copy()).toBe(true);
    expect(await own('resolv.conf')).toBe('nameserver 127.0.0.53\n');
    expect(await copy()).toBe(false);
    await writeFile(join(place, 'host/run/stub.conf'), 'nameserver 10.0.0.7\n');
    expect(await copy()).toBe(true);
    expect(await own('resolv.conf')).toBe('nameserver 10.0.0.7\n');
  });

  it('keeps the entries that the container added to /etc/hosts', async () => {
    await copy();
    const expected = '127.0.0.1 localhost\n10.0.0.5 api-int\n10.0.0.9 added\n';
    expect(await own('hosts')).toBe(expected);
    expect(await copy()).toBe(false);
    expect(await own('hosts')).toBe(expected);
  });

  it('keeps the files of the container when the host has none', async () => {
    await rm(join(place, 'host/etc/hosts'));
    const before = await own('hosts');
    expect(await copy()).toBe(false);
    expect(await own('hosts')).toBe(before);
    expect(await own('resolv.conf')).toBe('nameserver 10.0.0.1\n');
  });

  it('does not change the files of a machine that is not a container', async () => {
    const before = await readFile('/etc/hosts', 'utf8');
    const found = await looked(hostLookup(HOST_ROOT), 'localhost');
    expect(found).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await readFile('/etc/hosts', 'utf8')).toBe(before);
  });
});

const looked = (lookup: LookupFunction, name: string): Promise<unknown> =>
  new Promise((resolve) => {
    lookup(name, { all: true, family: 4 }, (error, found) => resolve(error?.code ?? found));
  });

const known: LookupAddress[] = [{ address: '10.0.0.5', family: 4 }];

it.each([
  ['repeats a failed lookup after the name service has changed', [false, true], known, 2],
  ['fails when the name service has not changed', [false, false], 'ENOTFOUND', 1],
])('hostLookup %s', async (_, copies, expected, times) => {
  const left = [...copies];
  let [isKnown, lookups] = [false, 0];
  const copyOnce = (): Promise<boolean> => {
    isKnown = left.shift() === true;
    return Promise.resolve(isKnown);
  };
  const lookup = hostLookup('/host', copyOnce, (_name, _options, answer) => {
    lookups += 1;
    if (isKnown) answer(null, known);
    else answer(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []);
  });
  expect(await looked(lookup, 'api-int.c.example')).toEqual(expected);
  expect(lookups).toBe(times);
  expect(left).toEqual([]);
});
