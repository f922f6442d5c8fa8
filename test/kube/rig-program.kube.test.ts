import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlProgram, type ProgramPlan, type ServerControl } from '../../mocks/kube/program.ts';

let folder: string;
const opened: ServerControl[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-program-'));
});
afterEach(async () => {
  for (const control of opened.splice(0)) await control.kill();
  await rm(folder, { recursive: true });
});

/** A program of sh that is ready once it has made a file. */
function scripted(script: string, isReady?: ProgramPlan['isReady']): ServerControl {
  const ready = join(folder, 'ready');
  const control = controlProgram({
    name: 'a program',
    program: 'sh',
    args: ['-c', script, 'sh', ready],
    logFile: join(folder, 'log'),
    isReady: isReady ?? (() => Promise.resolve(existsSync(ready))),
  });
  opened.push(control);
  return control;
}

describe('a program of the rig', () => {
  it('is started when it answers, and only once', async () => {
    const control = scripted('echo started; touch "$1"; exec sleep 60');
    await control.start();
    await control.start();
    expect(control.isRunning()).toBe(true);
    await expect(readFile(join(folder, 'log'), 'utf8')).resolves.toBe('started\n');
  });

  it('says with its last words that it could not start', async () => {
    const control = scripted('echo no such flag >&2; exit 1');
    await expect(control.start()).rejects.toThrow('ended while it started:\nno such flag');
    expect(control.isRunning()).toBe(false);
  });

  it('is not taken for ready while its question fails', async () => {
    let asked = 0;
    const control = scripted('exec sleep 60', () => {
      asked += 1;
      return asked < 3 ? Promise.reject(new Error('refused')) : Promise.resolve(true);
    });
    await control.start();
    expect(asked).toBe(3);
  });

  it('does nothing between a freeze and a thaw', async () => {
    const control = scripted('echo $$ >"$1"; while :; do echo x; sleep 0.01; done');
    const said = async () => (await readFile(join(folder, 'log'), 'utf8')).length;
    await control.start();
    await control.freeze();
    const before = await said();
    const pid = (await readFile(join(folder, 'ready'), 'utf8')).trim();
    await expect(readFile(`/proc/${pid}/status`, 'utf8')).resolves.toMatch(/^State:\tT /m);
    await expect(said()).resolves.toBe(before);
    await control.thaw();
    await expect.poll(said).toBeGreaterThan(before);
  });

  it('can be stopped when it is frozen', async () => {
    const control = scripted(
      'trap "echo told; exit 0" TERM; touch "$1"; while :; do sleep 0.1; done',
    );
    await control.start();
    await control.freeze();
    await control.stop();
    expect(control.isRunning()).toBe(false);
    await expect(readFile(join(folder, 'log'), 'utf8')).resolves.toBe('told\n');
  });

  it('ends when the process that started it is killed', async () => {
    const module = new URL('../../mocks/kube/program.ts', import.meta.url).href;
    const plan = { name: 'sleep', program: 'sleep', args: ['60'], logFile: join(folder, 'log') };
    const code = `
      const { controlProgram } = await import(${JSON.stringify(module)});
      const isReady = async () => true;
      await controlProgram({ ...${JSON.stringify(plan)}, isReady }).start();
      const { readFileSync } = await import('node:fs');
      const { pid } = process;
      process.stdout.write(readFileSync('/proc/' + pid + '/task/' + pid + '/children', 'utf8'));
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [text] = (await once(parent.stdout, 'data')) as [Buffer];
    const status = `/proc/${text.toString().trim()}/status`;
    expect(existsSync(status)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'close');
    await expect.poll(() => isGone(status)).toBe(true);
  });
});

/** A process that nobody has waited for is gone too. */
async function isGone(status: string): Promise<boolean> {
  if (!existsSync(status)) return true;
  return (await readFile(status, 'utf8').catch(() => 'State:\tZ')).includes('State:\tZ');
}
