import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { bytesArgv } from '../host-commands.ts';
import { checkHooks, runAfterHook, runBeforeHook } from './hooks.ts';

const hook = '/opt/raid';
const config: ConfigInput = {
  role: 'worker',
  cluster: { id: 'C', hostId: 'H' },
  hooks: { before: hook, after: hook, minutes: 2 },
  proxy: { http: 'http://user:secret@proxy.example:3128', no: 'site.example' },
};
const disk: TargetDisk = {
  path: '/dev/sda',
  asked: '/dev/sda',
  name: 'sda',
  majorMinor: '8:0',
  type: 'disk',
  sizeBytes: 1,
  sectorBytes: 512,
  serial: '',
  wwn: '',
  byId: [],
};
const image = {
  kind: 'url',
  url: 'http://h.example/i.raw',
  source: 'config',
  because: '',
} as const;
const facts = { disk, image };

const onPath = (name: string) => ['sh', '-c', 'command -v "$1" || exit 1', 'sh', name] as const;

describe('image/check-hooks', () => {
  it.each<[string, readonly [number, number], string, string?]>([
    ['is a program', [0, 0], '\x7fELF\x02'],
    ['is a script', [0, 0], '#! /usr/bin/bash -e\nset -u\n'],
    ['is a script without options', [0, 0], '#!/usr/bin/bash\nset -u\n'],
    ['is not a file', [1, 0], '', 'is not a file on the host'],
    ['is not executable', [0, 1], '', 'is not executable'],
    ['has no #! line', [0, 0], 'echo x\r\n'],
    ['has an empty #! line', [0, 0], '#! \ntrue\n', 'names no program behind #!'],
    [
      'has Windows line endings',
      [0, 0],
      '#!/bin/sh\r\ntrue\r\n',
      'has Windows line endings: run dos2unix',
    ],
    [
      'names an interpreter that the live system lacks',
      [0, 0],
      '#!/usr/bin/python3 -u\n',
      'needs /usr/bin/python3, which is not on the host',
    ],
    ['names an interpreter by env', [0, 0], '#!/usr/bin/env bash\n'],
    ['passes options to env', [0, 0], '#!/usr/bin/env -S -u A bash\n'],
    ['names no interpreter behind env', [0, 0], '#!/usr/bin/env \n', 'names no program behind #!'],
    [
      'names an interpreter by env that the live system lacks',
      [0, 0],
      '#!/usr/bin/env python3\n',
      'needs python3, which is not on the host',
    ],
    [
      'names an interpreter by env -S that the live system lacks',
      [0, 0],
      '#! /usr/bin/env  -S python3 -u\n',
      'needs python3, which is not on the host',
    ],
  ])('checks a hook that %s', async (...[, [file, executable], content, problem]) => {
    const host = fakeHost()
      .on(['test', '-f', hook])
      .fails(file)
      .on(['test', '-x', hook])
      .fails(executable)
      .on(['od', rest])
      .prints(Buffer.from(content, 'latin1').toString('hex'))
      .on(['test', '-x', '/usr/bin/bash'])
      .prints('')
      .on(['test', '-x', '/usr/bin/python3'])
      .fails(1)
      .on(['test', '-x', '/usr/bin/env'])
      .prints('')
      .on(['test', '-x', '/bin/env'])
      .fails(1)
      .on(onPath('bash'))
      .prints('')
      .on(onPath('python3'))
      .fails(1);
    const { failure } = await tryStep(checkHooks, { config, host });
    if (problem === undefined) expect(failure).toBeUndefined();
    else
      expect(failure).toMatchObject({
        code: 'hook.not-executable',
        message: `${hook} ${problem}`,
        context: { path: hook },
      });
  });

  it.each<[ConfigInput['hooks'], readonly string[]]>([
    [{}, []],
    [{ after: '/b' }, ['/b']],
    [{ before: '/a', after: '/b' }, ['/a', '/b']],
  ])('checks only hooks that are set: %j', async (hooks, paths) => {
    const { when, preview } = checkHooks;
    const parsed = Config.parse({ hooks });
    expect(when?.isMet(parsed)).toBe(paths.length > 0);
    const commands = paths.flatMap((path) => [
      ['test', '-f', path],
      ['test', '-x', path],
      bytesArgv(path, 256),
    ]);
    expect(preview?.(parsed, {})).toEqual(commands);
    const host = fakeHost().on([rest]).prints('');
    await runStep(checkHooks, { config: { hooks }, host });
    expect(host.ran).toEqual(commands);
  });
});

describe.each([
  ['before', runBeforeHook],
  ['after', runAfterHook],
] as const)('hooks.%s', (name, hookStep) => {
  it('gets the disk, the image and the proxy without a password in its environment', async () => {
    const host = fakeHost().on([hook]).prints('RAID of http://user:secret@bmc.example is up\n');
    const { notes, events } = await runStep(hookStep, { config, facts, host });
    expect(notes).toEqual(['info: RAID of http://***@bmc.example is up']);
    expect(events.find(({ type }) => type === 'note')).toMatchObject({ fields: { hook: name } });
    const [call] = host.calls;
    expect(call?.limit).toBe(120_000);
    expect(call?.env).toMatchObject({
      INSTALL_HOOK: name,
      INSTALL_ROLE: 'worker',
      INSTALL_HOST_ID: 'H',
      INSTALL_CLUSTER_ID: 'C',
      INSTALL_DISK: '/dev/sda',
      INSTALL_IMAGE: 'http://h.example/i.raw',
      http_proxy: 'http://proxy.example:3128',
      HTTP_PROXY: 'http://proxy.example:3128',
    });
    expect(JSON.stringify(call?.env)).not.toContain('secret');
  });

  it('gets the path of an image file', async () => {
    const host = fakeHost().on([hook]).succeeds();
    const file = { kind: 'file', path: '/opt/i.raw', because: '' } as const;
    await runStep(hookStep, { config, facts: { disk, image: file }, host });
    expect(host.calls[0]?.env).toMatchObject({ INSTALL_IMAGE: '/opt/i.raw' });
  });

  it('does not run if it is not set', async () => {
    const host = fakeHost();
    await runStep(hookStep, {
      config: { ...config, hooks: { ...config.hooks, [name]: '' } },
      facts,
      host,
    });
    expect(host.ran).toEqual([]);
  });

  it('is not blamed for a bug', async () => {
    const broken = fakeHost()
      .on([hook])
      .answers(() => Promise.reject(new TypeError('a bug')));
    const { failure } = await tryStep(hookStep, { config, facts, host: broken });
    expect(failure).toMatchObject({ kind: 'bug' });
  });

  it('gets no disk for an installation into the running root', async () => {
    const host = fakeHost().on([hook]).succeeds();
    const running = { ...config, image: { existingRoot: 'registry.example/os:1' } };
    const none = { disk: undefined, image: undefined };
    await runStep(hookStep, { config: running, facts: none, host });
    expect(host.calls[0]?.env).toMatchObject({
      INSTALL_DISK: '',
      INSTALL_IMAGE: 'registry.example/os:1',
    });
  });

  it('logs the start and the end of its output and the number of omitted lines', async () => {
    const lines = Array.from({ length: 4000 }, (_, at) => `${at} `.padEnd(64, '.'));
    const host = fakeHost().on([hook]).prints(lines.join('\n'));
    const { notes } = await runStep(hookStep, { config, facts, host });
    expect(notes).toHaveLength(2049);
    expect(notes[1023]).toBe(`info: ${lines[1023]}`);
    expect(notes[1024]).toBe('warn: 1952 lines of what the hook printed are left out');
    expect(notes[1025]).toBe(`info: ${lines[2976]}`);
    expect(notes.at(-1)).toBe(`info: ${lines.at(-1)}`);
    const less = fakeHost().on([hook]).prints(lines.slice(0, 2000).join('\n\n'));
    expect((await runStep(hookStep, { config, facts, host: less })).notes).toEqual(
      lines.slice(0, 2000).map((line) => `info: ${line}`),
    );
  });

  it('logs its output when it fails', async () => {
    const host = fakeHost()
      .on([hook])
      .fails(1, '', `${'y'.repeat(60_000)}\n${'z'.repeat(10_000)}`);
    const { notes } = await tryStep(hookStep, { config, facts, host });
    expect(notes).toHaveLength(2);
    expect(notes.at(-1)).toMatch(/: z+$/);
  });

  it('fails the installation when it fails', async () => {
    const host = fakeHost().on([hook]).fails(3, 'no controller at http://a:b@bmc.example');
    const { failure } = await tryStep(hookStep, { config, facts, host });
    expect(failure).toMatchObject({
      code: 'hook.failed',
      message: `hooks.${name}: /opt/raid ended with exit code 3: no controller at http://***@bmc.example`,
      context: { hook: name, path: hook },
    });
  });

  it('fails the installation after its limit', async () => {
    const clock = fakeClock();
    const host = fakeHost({ clock }).on([hook]).hangs();
    const limited = { ...config, hooks: { ...config.hooks, minutes: 2 } };
    const { failure } = await tryStep(hookStep, { config: limited, facts, host, clock });
    expect(failure).toMatchObject({ code: 'hook.timed-out' });
    expect(clock.elapsed()).toBe(2 * 60_000);
  });
});
