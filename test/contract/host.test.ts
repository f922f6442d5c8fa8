// Contract of a host's commands and locks.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { takeLock } from '../../src/adapters/host/host-lock.ts';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { everyHost, standInNsenter } from './real/host-subjects.ts';

const limit = seconds(10);
const { signal } = new AbortController();

everyHost((subject) => {
  const sh = (text: string, options = {}) =>
    subject().host.exec(['sh', '-c', text], { signal, limit, ...options });

  it('separates and trims stdout and stderr', async () => {
    await expect(sh(subject().scripts.both)).resolves.toMatchObject({
      exitCode: 0,
      stdout: 'out',
      stderr: 'err',
    });
  });

  it('emits lines that end with carriage return or line feed, without empty ones', async () => {
    const lines: string[] = [];
    await sh(subject().scripts.lines, {
      onLine: (line: string, stream: string) => lines.push(`${stream} ${line}`),
    });
    expect(lines).toEqual(['stderr one', 'stderr two', 'stderr three']);
  });

  it('fails for an unexpected exit code', async () => {
    await expect(sh('exit 3')).rejects.toMatchObject({
      code: 'command.failed',
      kind: 'host',
      context: { argv: 'sh -c exit 3', exitCode: 3 },
    });
  });

  it('accepts the given exit codes only', async () => {
    await expect(sh('exit 3', { accept: [0, 3] })).resolves.toMatchObject({ exitCode: 3 });
    await expect(sh('exit 0', { accept: [3] })).rejects.toMatchObject({ code: 'command.failed' });
  });

  it('reports a missing program', async () => {
    await expect(subject().host.exec(['no-such-program'], { signal, limit })).rejects.toMatchObject(
      {
        code: 'command.not-found',
      },
    );
  });

  it('masks secrets in an error', async () => {
    const token = new Secret('planted-token');
    const failing = sh(`exit 4 # ${token.reveal()}`, { secrets: [token.reveal()] });
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'command.failed',
      context: { argv: 'sh -c exit 4 # ***', exitCode: 4 },
    });
    expect(inspect(error, { depth: 9 })).not.toContain(token.reveal());
  });

  it('passes the given variables to a command and not its own', async () => {
    const text = subject().isReal
      ? 'printf "${PROXY-none}"; test -z "$PULL_SECRET_TOKEN"'
      : 'proxy';
    expect((await sh(text, { env: { PROXY: 'p' } })).stdout).toBe('p');
    expect((await sh(text)).stdout).toBe('none');
  });

  it('stops a command when the signal aborts', async () => {
    const controller = new AbortController();
    const stop = (): void => controller.abort(new Error('enough'));
    const argv = subject().isReal ? ['sh', '-c', 'echo runs; exec sleep 60'] : ['hang'];
    const options = { signal: controller.signal, limit, onLine: stop };
    const running = subject().host.exec(argv, options);
    if (!subject().isReal) stop();
    await expect(running).rejects.toMatchObject({ code: 'command.stopped' });
  });

  it('starts nothing when the signal is already aborted', async () => {
    const run = subject().host.exec(['sh', '-c', 'exit 0'], {
      signal: AbortSignal.abort(new Error('late')),
      limit,
    });
    await expect(run).rejects.toMatchObject({ code: 'command.stopped' });
  });

  it('refuses a lock that another holds, until it is released', async () => {
    const lockName = `bootwright-contract-${process.pid}.lock`;
    const first = await subject().host.lock(lockName, signal);
    await expect(subject().host.lock(lockName, signal)).resolves.toBeUndefined();
    await first?.release();
    const again = await subject().host.lock(lockName, signal);
    expect(again).toBeDefined();
    await again?.release();
    await rm(`/run/lock/${lockName}`, { force: true });
  });
});

it('passes the variables of the installation and those of a step to a command', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-host-'));
  const environment = { PATH: await standInNsenter(directory), no_proxy: 'ours' };
  const variables = { https_proxy: 'http://p.example' };
  const { exec } = nsenterHost({ environment, variables });
  const argv = ['sh', '-c', 'echo "$https_proxy $no_proxy $RUST_BACKTRACE"'];
  const options = { signal, limit, env: { RUST_BACKTRACE: '0' } };
  expect((await exec(argv, options)).stdout).toBe('http://p.example  0');
  await rm(directory, { recursive: true });
});

it('kills a killable command without SIGTERM', async () => {
  const control = new AbortController();
  const lines: string[] = [];
  const script = 'trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done';
  const running = localHost().exec(['sh', '-c', script], {
    signal: control.signal,
    limit,
    isKillable: true,
    onLine: (line) => {
      lines.push(line);
      control.abort(new Error('enough'));
    },
  });
  await expect(running).rejects.toMatchObject({ code: 'command.stopped' });
  expect(lines).toEqual(['ready']);
});

it('reports a command without its secrets', async () => {
  const events: unknown[] = [];
  const { exec } = localHost({ onCommand: (event) => events.push(event) });
  await exec(['true', '--token=planted-token'], { signal, limit, secrets: ['planted-token'] });
  expect(events).toMatchObject([
    { type: 'command.started', argv: ['true', '--token=***'] },
    { type: 'command.finished', argv: ['true', '--token=***'], exitCode: 0 },
  ]);
});

it('fails with the exit code of flock', async () => {
  const prefix = ['sh', '-c', 'echo "flock: cannot open lock file" >&2; exit 66'];
  const access = { prefix, environment: { PATH: process.env['PATH'] }, onCommand: undefined };
  await expect(takeLock(access, 'disk', signal)).rejects.toMatchObject({
    code: 'command.failed',
    context: { exitCode: 66 },
  });
});
