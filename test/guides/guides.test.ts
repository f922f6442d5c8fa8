import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import {
  openSingleHost,
  type SingleHost,
  type SingleHostPlan,
} from '../../mocks/lab/single-host.ts';
import { bundlePath } from '../../scripts/bundle.ts';
import { followGuide } from './follow-guide.ts';

const open = (plan: Partial<SingleHostPlan> = {}): Promise<SingleHost> =>
  openSingleHost({
    ...{ role: 'master', isControlPlaneDone: true, token: 'token-of-the-guides' },
    ...{ write: { seconds: 0.5 } },
    ...plan,
  });

it('when-it-hangs.md', async () => {
  await using host = await open({ role: 'worker', isControlPlaneDone: false });
  const { environment, folder, words, inventory } = host;
  const logFile = join(folder, 'agent.log');
  const agent = startAgent({ bundle: bundlePath, args: words, env: environment, logFile });
  const isWaiting = (): boolean =>
    inventory.requests.some(({ body }) => body.includes('0 of 2 masters'));
  await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
  await followGuide('when-it-hangs.md', environment);
  agent.stop();
  await agent.ended;
});
