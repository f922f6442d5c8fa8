import { publish } from '../../mocks/host/images.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Config } from '../../src/config/schema.ts';
import { workerCase } from '../layering/worker.ts';

const { repository, rendered, digest, image } = workerCase;

/** Whether a host is a worker that is told where the image of its pool lies. */
export const takesImage = ({ role, layering }: Config): boolean =>
  role === 'worker' && layering.repository !== '';

/** Puts the image of the workers where they look for it. */
export function giveWorkerImage({ images }: Machine): void {
  const held = { digest, labels: { 'ostree.bootable': 'true' } };
  publish(images, `${repository}:${rendered}`, held);
  publish(images, image, held);
}
