// Kills an agent that has started a writer under a lock, then takes the lock.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';
import { processesWith } from './processes.ts';

const host = nsenterHost();
const { signal } = new AbortController();
const underLock = 'probe-writer.lock';
const isWriting = (): boolean => processesWith('4321').includes('sleep 4321');

async function runProbe(): Promise<void> {
  const own = new URL(import.meta.url).pathname;
  const agent = spawn(process.execPath, [own, 'agent'], { stdio: 'inherit' });
  while (!isWriting()) await pause(10);
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  const outlivesAgent = isWriting();
  const whileWriting = await host.lock(underLock, signal);
  const second = await host
    .exec(['true'], { signal, limit: 600_000, underLock })
    .catch((error: unknown) => (error as { code?: string }).code);
  await host.exec(['pkill', '--full', '^sleep 4321$'], { signal, limit: 600_000 });
  while (isWriting()) await pause(10);
  const after = await host.lock(underLock, signal);
  process.stdout.write(
    JSON.stringify({
      outlivesAgent,
      whileWriting: whileWriting === undefined ? 'refused' : 'held',
      second,
      after: after === undefined ? 'refused' : 'held',
    }),
  );
}

if (process.argv[2] === 'agent') {
  await host.exec(['sleep', '4321'], { signal, limit: 600_000, underLock });
} else {
  await runProbe();
}
