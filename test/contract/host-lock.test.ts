import { expect, it } from 'vitest';
import { takeLock } from '../../src/adapters/host/host-lock.ts';

it('fails with the exit code of flock', async () => {
  const prefix = ['sh', '-c', 'echo "flock: cannot open lock file" >&2; exit 66'];
  const access = { prefix, environment: { PATH: process.env['PATH'] }, onCommand: undefined };
  await expect(takeLock(access, 'disk', new AbortController().signal)).rejects.toMatchObject({
    code: 'command.failed',
    context: { exitCode: 66 },
  });
});
