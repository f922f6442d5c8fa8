import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { StatusDocument } from '../../src/cli/status.ts';
import { type AgentProcess, startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHost } from '../../mocks/lab/single-host.ts';
import { becomes, bundle, hasWritten } from './faulty-run.ts';

const start = (host: SingleHost): AgentProcess =>
  startAgent({
    ...{ bundle, args: host.words, env: host.environment },
    logFile: `${host.folder}/agent.log`,
  });

async function status(host: SingleHost): Promise<StatusDocument> {
  const args = [bundle, 'status', '--format', 'json', ...host.words];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: host.environment });
  return StatusDocument.parse(JSON.parse(stdout));
}

it('says how an agent stands while it runs, when it was killed, and at its end', async () => {
  await using host = await openSingleHost({
    ...{ role: 'master', isControlPlaneDone: true, token: 'token-of-the-test' },
    write: { seconds: 30, lineMillis: 50 },
  });
  const agent = start(host);
  await becomes(() => hasWritten(host));
  const running = await status(host);
  expect(running).toMatchObject({ agent: 'running', status: { state: 'running' } });
  expect(running.status.running.map(({ step }) => step)).toContain('image/write');
  expect(running.status.running.some(({ percent }) => percent !== undefined)).toBe(true);

  agent.kill();
  await agent.ended;
  expect(await status(host)).toMatchObject({
    agent: 'gone',
    status: { state: 'running' },
    restart: { kind: 'resume', next: [{ id: 'image/write', action: 'run' }] },
  });

  host.machine.writer.seconds = 0.2;
  const again = start(host);
  expect((await again.ended).exitCode).toBe(0);
  expect(await status(host)).toMatchObject({
    agent: 'gone',
    status: { state: 'left the host', running: [] },
  });
});
