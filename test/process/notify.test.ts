import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { SingleHost } from '../../mocks/lab/single-host.ts';
import { startAgent } from '../../mocks/lab/agent.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { becomes, bundle, cannotWrite, interpose, runUnder } from './faulty-run.ts';

const probe = (name: string): string => new URL(`probes/${name}`, import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'bootwright-notify-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A real datagram socket, as a service manager has; `ended` is the message with which a program says that it ends. */
async function managerAt(socket: string) {
  const messages: string[] = [];
  const receiver = spawn('perl', [probe('notify-socket.pl'), socket]);
  let text = '';
  receiver.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    messages.splice(0, messages.length, ...text.split('\n').slice(1, -1));
  });
  await becomes(() => text.startsWith('bound\n'));
  return {
    messages,
    ended: async (): Promise<string> => {
      const isLast = (message: string): boolean => message.split('|').includes('STOPPING=1');
      await becomes(() => messages.some(isLast));
      return messages.find(isLast) ?? '';
    },
    [Symbol.dispose]: () => {
      receiver.kill();
    },
  };
}

/** The stand-in host has no systemd-notify; the machine's own is run in its place. */
const ownNotify = (host: SingleHost): void => {
  interpose(host, 'env', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
};

describe('a service manager', () => {
  it('is told that the install is at work, what at, that it is alive, and that it ends', async () => {
    const socket = join(folder, 'install');
    using manager = await managerAt(socket);
    const { exitCode } = await runUnder({
      plan: { write: { seconds: 3, flushSeconds: 0, lineMillis: 100 } },
      before: ownNotify,
      env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '1000000' },
    });
    expect(exitCode).toBe(0);
    await manager.ended();
    const { messages } = manager;
    // A watchdog that is slow to be heard may come first, or in the same message.
    const ready = messages.filter((message) => message.split('|').includes('READY=1'));
    expect(ready).toEqual([expect.stringMatching(/\|?STATUS=master: /) as string]);
    expect(messages.findIndex((message) => message.includes('STATUS='))).toBe(
      messages.indexOf(ready[0] ?? ''),
    );
    expect(messages.join('\n')).toMatch(/STATUS=master: Write the operating system .*, \d+%/);
    expect(messages.filter((message) => message.includes('WATCHDOG=1')).length).toBeGreaterThan(1);
    const ends = messages.filter((message) => message.includes('STOPPING=1'));
    expect(ends.map((message) => message.split('|').toSorted())).toEqual([
      ['STATUS=master: left the host', 'STOPPING=1'],
    ]);
  });

  it('is told why an install failed, and to let it upload its logs', async () => {
    const socket = join(folder, 'failed');
    using manager = await managerAt(socket);
    await runUnder({
      before: (host) => {
        cannotWrite(host);
        ownNotify(host);
      },
      env: { NOTIFY_SOCKET: socket },
    });
    expect((await manager.ended()).split('|').toSorted()).toEqual([
      'EXTEND_TIMEOUT_USEC=1200000000',
      expect.stringMatching(/^STATUS=master: failed: image\/write: image\./) as string,
      'STOPPING=1',
    ]);
  });

  it('that is not there costs nothing', async () => {
    const { exitCode, log } = await runUnder({
      before: ownNotify,
      env: { NOTIFY_SOCKET: join(folder, 'nobody') },
    });
    expect(exitCode).toBe(0);
    expect(log).not.toContain('systemd-notify');
  });

  it('of a container is reached from the host, by the real nsenter', async () => {
    // Only the inner mount namespace has the socket, as only the container has that of its runtime.
    const inner = `mount -t tmpfs none /mnt
      perl ${probe('notify-socket.pl')} /mnt/socket >/mnt/heard & heard() { until grep -q "$1" /mnt/heard; do sleep 0.05; done; }
      heard bound; NOTIFY_SOCKET=/mnt/socket ${process.execPath} ${probe('notify.ts')}
      heard STOPPING; kill $!; cat /mnt/heard`;
    const { stdout } = await promisify(execFile)('unshare', [
      ...['--mount', '--pid', '--fork', '--mount-proc', '--', 'sh', '-c'],
      'unshare --mount sh -c "$0" & wait $!',
      inner,
    ]);
    expect(stdout).toBe('bound\nREADY=1|STATUS=at work\nSTOPPING=1\n');
  });

  it('has a program of a pod ready while it waits for its turn', async () => {
    const socket = join(folder, 'pod');
    using manager = await managerAt(socket);
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf('https://127.0.0.1:9'));
    const agent = startAgent({
      bundle,
      logFile: join(folder, 'pod.log'),
      args: ['node', 'controller', '--kubeconfig', kubeconfig],
      env: { PATH: process.env['PATH'] ?? '', NOTIFY_SOCKET: socket },
    });
    await becomes(() => manager.messages.length > 0);
    agent.stop();
    expect((await agent.ended).exitCode).toBe(143);
    await manager.ended();
    expect(manager.messages).toEqual(['READY=1', expect.stringMatching(/^STATUS=.*\|STOPPING=1$/)]);
  });
});
