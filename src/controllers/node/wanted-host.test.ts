import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { wantedHost } from './wanted-host.ts';

it('refuses Ignition of spec 2 with the reason', () => {
  const config = { ignition: { version: '2.2.0' } };
  expect(() => wantedHost({ spec: { config } })).toThrow(
    expect.objectContaining({
      code: 'ignition.spec-2',
      hint: expect.stringMatching(/spec 3/) as string,
    }) as Error,
  );
});

it('uses the default path of SSH keys for an empty homeDir', () => {
  const user = { name: 'core', homeDir: '', sshAuthorizedKeys: ['ssh-ed25519 A'] };
  const config = { ignition: { version: '3.4.0' }, passwd: { users: [user] } };
  const { files } = wantedHost({ spec: { config } });
  expect(files.map(({ path }) => path)).toEqual(['/home/core/.ssh/authorized_keys.d/ignition']);
});

it.each([
  [2, undefined],
  [3, 'ignition.too-large'],
])('unpacks at most 64 MiB in total: %d files of 30 MiB', (count, code) => {
  const packed = gzipSync(Buffer.alloc(30 * 1024 ** 2), { level: 1 }).toString('base64');
  const contents = { source: `data:;base64,${packed}`, compression: 'gzip' };
  const files = Array.from({ length: count }, (_, at) => ({ path: `/etc/${at}`, contents }));
  const read = (): unknown =>
    wantedHost({ spec: { config: { ignition: { version: '3.4.0' }, storage: { files } } } });
  if (code === undefined) expect(read).not.toThrow();
  else expect(read).toThrow(expect.objectContaining({ code }) as Error);
});
