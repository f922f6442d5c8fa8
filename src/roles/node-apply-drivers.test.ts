import { expect, it } from 'vitest';
import { changing } from '../../test/support/applied-node.ts';
import { any, rest } from '../../test/support/fake-host.ts';
import {
  bootcEntry,
  bootcOutput,
  imageOf,
  originFile,
  ostreeStagedOutput,
  sum,
} from '../../test/support/os-samples.ts';
import { writableArgv } from '../os/plain-ostree.ts';
import { coreOsNode, runOnNode } from '../../test/support/core-os-node.ts';
import { nodeApply } from './node.ts';

it('works with bootc', async () => {
  const { host } = coreOsNode();
  const status = (more: object) => bootcOutput({ booted: bootcEntry('1'), ...more });
  host
    .on(['bootc', 'status', rest])
    .prints(status({}))
    .on(['bootc', 'switch', rest])
    .answers(() => {
      host.on(['bootc', 'status', rest]).prints(status({ staged: bootcEntry('2') }));
    });
  await runOnNode(nodeApply, host);
  expect(changing(host)).toEqual([
    ['bootc', 'switch', '--quiet', '--transport', 'registry', imageOf('2')],
  ]);
});

it('works with ostree alone, in a mount namespace of its own', async () => {
  const { host } = coreOsNode();
  const booted = [`* rhcos ${sum('1')}.0`, `  rhcos ${sum('0')}.1 (rollback)`].join('\n');
  host
    .on(['rpm-ostree', rest])
    .isMissing()
    .on(['ostree', 'admin', 'status'])
    .prints(booted)
    .on(['cat', any])
    .answers(([, path = '']) => originFile(/([0-9a-f])\.\d+\.origin$/.exec(path)?.[1] ?? ''))
    .on(['ostree', 'show', rest])
    .answers((argv) => `'sha256:${argv.at(-1) ?? ''}'`)
    .on(['unshare', rest])
    .answers((argv) => {
      if (argv.includes('deploy'))
        host.on(['ostree', 'admin', 'status']).prints(ostreeStagedOutput);
    })
    .withFile(
      '/boot/loader/entries/ostree-2.conf',
      'options root=LABEL=root rw ostree=/ostree/boot.1/rhcos/a/0\n',
    );
  await runOnNode(nodeApply, host, { kernelArguments: { append: ['a=1'], remove: [] } });
  expect(changing(host)).toEqual([
    writableArgv([...['ostree', 'container', 'image', 'prune-images', '--sysroot=/', '--full']]),
    writableArgv([
      ...['ostree', 'container', 'image', 'deploy', '--sysroot', '/', '--stateroot', 'rhcos'],
      ...['--imgref', `ostree-unverified-registry:${imageOf('2')}`],
      ...['--karg', 'root=LABEL=root', '--karg', 'rw', '--karg', 'a=1'],
    ]),
  ]);
});
