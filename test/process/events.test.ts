import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHost } from '../../mocks/lab/single-host.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { bundle, cannotWrite } from './faulty-run.ts';

const token = 'token-of-the-test';

/** The fields of each event, as docs/events.md names them; `?` marks one that may be missing. */
const published = new Map(
  readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, type, fields = ''] = /^\| `([a-z.]+)` +\| .* \| (.*) \|$/.exec(line) ?? [];
      const names = [...fields.matchAll(/`(\w+)\??`/g)].map(([, name = '']) => name);
      return type === undefined ? [] : [[type, new Set(['v', 'type', 'at', 'run', ...names])]];
    }),
);

/** Whether an event is in the page, with fields that the page names. */
const isPublished = (event: RunEvent): boolean =>
  Object.keys(event).every((field) => published.get(event.type)?.has(field));

/** The types of the events that an agent writes; each line must be as it is published. */
async function eventTypes(prepare: (host: SingleHost) => void): Promise<ReadonlySet<string>> {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: true,
    token,
    write: { seconds: 0.5, flushSeconds: 0, lineMillis: 20 },
  });
  prepare(host);
  const file = `${host.folder}/events.jsonl`;
  const args = [...host.words, '--events', file];
  await startAgent({ bundle, args, env: host.environment, logFile: `${host.folder}/log` }).ended;
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(token);
  const lines = text.trimEnd().split('\n');
  const wrong = lines.filter((line) => !isPublished(JSON.parse(line) as RunEvent));
  expect(wrong).toEqual([]);
  return new Set(lines.map((line) => (JSON.parse(line) as RunEvent).type));
}

describe('the event stream', () => {
  it('is as it is published, of an install that succeeds', async () => {
    const types = await eventTypes(() => undefined);
    for (const type of [
      ...['run.started', 'step.started', 'step.progress', 'step.skipped', 'step.finished'],
      ...['command.started', 'command.finished', 'note', 'report.sent', 'run.finished'],
    ]) {
      expect(types).toContain(type);
    }
  });

  it('is as it is published, of an install that fails', async () => {
    const types = await eventTypes(cannotWrite);
    for (const type of ['step.failed', 'run.failed']) expect(types).toContain(type);
  });
});
