// The guide to the lab with Cluster API: real agents on simulated hosts, with the bootstrap data of
// their Machines.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { kubectl } from '../../scripts/parts/kube/kubectl.ts';
import { followGuide, shownOn } from '../guides/follow-guide.ts';
import { isShown } from '../guides/guide.ts';
import { createTestFolder } from '../guest/rig/test-folder.ts';

it('installs three masters and two workers with the commands of the guide, and shows their objects', async () => {
  using folder = createTestFolder('guide-capi');
  const lab = join(folder.path, 'lab.txt');
  const shell = `code=0; sh -euc "$0" > ${lab} || code=$?; cat ${lab}; exit $code`;
  const followed = followGuide('cluster-api-on-one-machine.md', {}, { shell: ['sh', '-c', shell] });
  const bin = join(await ensurePart(kubectl), 'bin');
  const command = shownOn('docs/guides/cluster-api-on-one-machine.md', 'kubectl');
  const shown = shownOn('docs/guides/cluster-api-on-one-machine.md', 'NAME');
  const objects = async (): Promise<string> => {
    const [, kubeconfig = ''] = /KUBECONFIG=(\S+)/.exec(readFileSync(lab, 'utf8')) ?? [];
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const script = command.replace('KUBECONFIG', kubeconfig);
    return (await promisify(execFile)('sh', ['-c', script], { env })).stdout;
  };
  let printed = '';
  const see = async (): Promise<boolean> => {
    printed = await objects().catch(String);
    return isShown(shown, printed);
  };
  await Promise.race([
    expect.poll(see, { timeout: 1_200_000, interval: 500 }).toBe(true),
    followed.then(() => expect(printed).toBe(shown)),
  ]);
  await followed;
});
