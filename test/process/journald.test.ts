import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const path = (name: string): string => new URL(`probes/${name}`, import.meta.url).pathname;

it('writes every line to a real journal with the tag installer', async () => {
  const { stdout } = await promisify(execFile)(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--mount-proc', '--', 'sh', path('journald.sh')],
      ...[process.execPath, path('journald.ts')],
    ],
    { timeout: 600_000 },
  );
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { TAG: string; PRIORITY: string; MESSAGE: string });
  const lines = entries.flatMap(({ MESSAGE }) => MESSAGE.split('\n'));
  expect(lines).toEqual(Array.from({ length: 1000 }, (_, index) => `line ${index}`));
  const warning = entries.find(({ MESSAGE }) => MESSAGE === 'line 500');
  expect(warning).toMatchObject({ TAG: 'installer', PRIORITY: '4' });
});
