import type { StepScope } from '../../engine/step.ts';
import { asksForChange } from '../../os/driver.ts';
import type { Host } from '../../ports/host.ts';
import { checkImage, checkSpace } from './check-image.ts';
import { lockHost, readHost } from './read-host.ts';
import { removeOldImages, stageOsImage } from './stage.ts';
import type { NextBoot, NodeRequest } from './step.ts';
import { verifyNextBoot } from './verify.ts';

/**
 * Has an image booted next, by the steps of `node apply`, for a program that does so again and again. The image that ran
 * before is deployed again too: its old deployment would boot with the /etc that it had then.
 * @throws AgentError `os.*`
 */
export async function stageForNextBoot(
  scope: StepScope<unknown> & { readonly host: Host },
  request: NodeRequest,
): Promise<NextBoot> {
  const lock = await lockHost(scope);
  try {
    return await stageLocked({ ...scope, config: request });
  } finally {
    await lock.release();
  }
}

async function stageLocked(
  scope: StepScope<NodeRequest> & { readonly host: Host },
): Promise<NextBoot> {
  const snapshot = await readHost(scope, asksForChange(scope.config.kernelArguments));
  const plan = await checkImage.run(scope, { snapshot });
  if (plan.kind !== 'nothing') {
    await removeOldImages.run(scope, { snapshot, plan });
    if (checkSpace.skipIf?.({ plan }, scope.config) === undefined) {
      await checkSpace.run(scope, { plan });
    }
    await stageOsImage.run(scope, { snapshot, plan });
  }
  return verifyNextBoot.run(scope, { snapshot, plan });
}
