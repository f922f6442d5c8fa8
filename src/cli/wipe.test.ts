import { expect, it } from 'vitest';
import { bootwright } from './program/commands.ts';

it.each([
  ['after the flags', ['--confirm', 'S4', 'again', '--disk.keep', 'data']],
  ['that names another disk', ['/dev/disk/by-id/none', '--confirm', 'S4']],
])('wipe refuses an argument %s', async (_, words) => {
  const argv = ['wipe', '--disk', '/dev/disk/by-id/none', ...words];
  await expect(bootwright().run(argv)).rejects.toMatchObject({
    code: 'cli.bad-flag',
    kind: 'input',
    message: expect.stringMatching(/unexpected argument: (again|.dev.disk.by-id.none)$/) as string,
  });
});
