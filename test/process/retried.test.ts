import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { RunEvent } from '../../src/engine/events.ts';
import { bundle, logOf, openHost, startOn } from './faulty-run.ts';

it('shows a retried request as a wait in the status, the log and the events', async () => {
  await using host = await openHost();
  const fault = { kind: 'status', status: 503, on: 'downloads/ignition' } as const;
  const endFault = host.inventory.faults.add(fault);
  const events = `${host.folder}/events.jsonl`;
  const agent = startOn(host, { args: ['--events', events] });

  const status = async (): Promise<string> => {
    const words = [bundle, 'status', ...host.words];
    const run = promisify(execFile)(process.execPath, words, { env: host.environment });
    return (await run.catch(() => ({ stdout: '' }))).stdout;
  };
  await expect
    .poll(status)
    .toMatch(/^ +waits for the service: 503, attempt \d+, for \d[\w ]+ of at most 10 min$/m);
  endFault();
  expect((await agent.ended).exitCode).toBe(0);
  const waits = readFileSync(events, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent)
    .filter((event) => event.type === 'wait.updated' || event.type === 'wait.finished')
    .filter(({ sentence }) => sentence === 'the service');
  expect(waits[0]).toMatchObject({ status: '503, attempt 1', attempt: 1, limit: 600_000 });
  expect(waits.at(-1)).toMatchObject({ type: 'wait.finished', isReached: true });

  const log = logOf(host);
  expect(log).toMatch(/"status":"503, attempt 1"/);
  expect(log).not.toMatch(/\d\.\d{4,}/);
  expect(log).toMatch(/"delay":"[\d.]+ m?s"/);
  // Only progress changes the texts at the service.
  const stages = host.inventory.requests.filter(({ path }) => path.endsWith('/progress'));
  expect(JSON.stringify(stages)).not.toContain('attempt');
});
