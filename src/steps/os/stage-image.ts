import type { StepScope } from '../../engine/step.ts';
import { drivers } from '../../os/choose-driver.ts';
import { asksForChange } from '../../os/driver.ts';
import { nextOf } from '../../os/status.ts';
import type { Host } from '../../ports/host.ts';
import { checkImage, checkSpace } from './check-image.ts';
import { localLimit, lockHost, readHost, runCommands } from './read-host.ts';
import { removeOldImages, stageOsImage } from './stage.ts';
import type { NextBoot, NodeRequest } from './step.ts';
import { verifyNextBoot } from './verify.ts';

/**
 * Has an image booted next, by the steps of `node apply`, for a program that does so again and again. The deployment
 * that ran before is put first without its registry.
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
  const { image, kernelArguments } = scope.config;
  const changesArguments = asksForChange(kernelArguments);
  const snapshot = await readHost(scope, changesArguments);
  const { driver, status } = snapshot;
  const isPrevious = nextOf(status) === undefined && status.rollback?.image === image;
  if (isPrevious && !changesArguments && !status.isBusy && status.booted?.image !== image) {
    await runCommands(scope, drivers[driver].rollbackArgvs(status), localLimit);
    return verifyNextBoot.run(scope, { snapshot, plan: { kind: 'switch' } });
  }
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
