import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { end, labHost } from './lab-host.ts';

const lab = labHost();
const { begin, run, start } = lab;

describe('the stand-in nsenter', () => {
  beforeEach(() => begin());

  it('passes words, output and exit code', async () => {
    expect(await run('cat', '/no such file')).toEqual({
      exitCode: 1,
      signal: null,
      stdout: '',
      stderr: 'cat: /no such file: No such file or directory\n',
    });
    expect(lab.machine.ran[0]?.argv).toEqual(['cat', '/no such file']);
  });

  it('passes stdin', async () => {
    const child = start('dd', 'of=/opt/written');
    child.stdin?.end('ä'.repeat(100_000));
    await end(child);
    expect(await readFile(join(lab.folder, 'root/opt/written'), 'utf8')).toBe('ä'.repeat(100_000));
  });

  it('passes a signal, and ends by it', async () => {
    await writeFile(join(lab.folder, 'root/opt/x.ign'), '{}');
    lab.machine.writer.seconds = 60;
    const child = start('coreos-installer', 'install', '-i', '/opt/x.ign', '/dev/sda');
    await once(child.stderr!, 'data');
    child.kill('SIGTERM');
    expect(await end(child)).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(lab.machine.ran.at(-1)).not.toHaveProperty('exitCode');
    expect(lab.machine.installed).toBeUndefined();
  });

  it('says so when the host has gone', async () => {
    const child = start('cat');
    await expect.poll(() => lab.machine.ran.length).toBe(1);
    lab.server.powerOff();
    expect(await end(child)).toMatchObject({ exitCode: 1, stderr: 'nsenter: the host has gone\n' });
  });

  it('holds a lock as long as somebody writes to it', async () => {
    const argv = ['flock', '--nonblock', '--conflict-exit-code', '75', '/run/lock/x', 'cat'];
    const holder = start(...argv);
    holder.stdin?.write('held\n');
    await once(holder.stdout!, 'data');
    expect((await run(...argv)).exitCode).toBe(75);
    holder.kill('SIGKILL');
    await expect.poll(() => lab.machine.locks.size).toBe(0);
    expect((await run(...argv)).exitCode).toBe(0);
  });
});
