import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { ShownStatus } from '../../src/cli/status.ts';
import type { SingleHost } from '../../mocks/lab/single-host.ts';
import { becomes, bundle, hasWritten, openHost, startOn } from './faulty-run.ts';

async function status(host: SingleHost): Promise<ShownStatus> {
  const args = [bundle, 'status', '--format', 'json', ...host.words];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: host.environment });
  return JSON.parse(stdout) as ShownStatus;
}

/**
 * A running `status --watch`: whether it has printed something, and in the end its output and exit
 * code.
 */
function watching(host: SingleHost) {
  const args = [bundle, 'status', '--watch', ...host.words];
  const ended = Promise.withResolvers<{ readonly text: string; readonly exitCode: unknown }>();
  const child = execFile(
    process.execPath,
    args,
    { env: host.environment },
    (error, stdout, stderr) => {
      ended.resolve({ text: stdout + stderr, exitCode: error === null ? 0 : error.code });
    },
  );
  return { began: once(child.stdout ?? child, 'data'), ended: ended.promise };
}

it('shows the status of a running, a killed and a finished agent', async () => {
  await using host = await openHost({ write: { seconds: 120, lineMillis: 50 } });
  const agent = startOn(host);
  await becomes(() => hasWritten(host));
  const running = await status(host);
  expect(running).toMatchObject({ agent: 'running', status: { state: 'running' } });
  expect(running.status.running.map(({ step }) => step)).toContain('image/write');
  expect(running.status.running.some(({ percent }) => percent !== undefined)).toBe(true);

  const ofKilled = watching(host);
  await ofKilled.began;
  agent.kill();
  await agent.ended;
  expect(await status(host)).toMatchObject({
    agent: 'gone',
    status: { state: 'running' },
    restart: { kind: 'resume', next: [{ id: 'image/write' }] },
  });

  const killed = await ofKilled.ended;
  expect(killed.exitCode).toBe(8);
  expect(killed.text).toMatch(/^\S+Z image\/write: Write/m);
  expect(killed.text).toMatch(/^failed: cli\.not-installed: .*its process is gone/m);

  const again = startOn(host);
  await expect.poll(async () => (await status(host)).agent).toBe('running');
  const ofInstalled = watching(host);
  await ofInstalled.began;
  host.machine.writer.seconds = 1;
  expect((await again.ended).exitCode).toBe(0);
  expect(await status(host)).toMatchObject({
    agent: 'gone',
    status: { state: 'left the host', running: [] },
  });
  const installed = await ofInstalled.ended;
  expect(installed).toMatchObject({ exitCode: 0 });
  expect(installed.text).toMatch(/^\S+Z master, bootwright (?:.*\n)+\S+Z left the host\n$/);
});
