import { expect, it } from 'vitest';
import { baseTag, copyImageArgv } from './copy-argv.ts';
import { digestOf, repositoryOf } from '../../lib/image-name.ts';

const digest = `sha256:${'a'.repeat(64)}`;

it('copies byte by byte, each side with its own credentials', () => {
  const from = { image: `r.example.com/a@${digest}`, authFile: '/pull' };
  const to = { image: '192.0.2.2:5000/b:1', authFile: '/push', certificates: '/certs' };
  expect(copyImageArgv({ from, to })).toEqual([
    ...['skopeo', 'copy', '--quiet', '--preserve-digests', '--src-authfile', '/pull'],
    ...['--dest-authfile', '/push', '--dest-cert-dir', '/certs'],
    ...[`docker://r.example.com/a@${digest}`, 'docker://192.0.2.2:5000/b:1'],
  ]);
});

it.each([
  [`r.example.com/a@${digest}`, digest, 'r.example.com/a', `base-${'a'.repeat(32)}`],
  ['r.example.com:5000/n/a:4.22', undefined, 'r.example.com:5000/n/a', 'base-4.22'],
])('reads %s', (image, ...parts) => {
  expect([digestOf(image), repositoryOf(image), baseTag(image)]).toEqual(parts);
});
