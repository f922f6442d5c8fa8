import { publish } from '../../mocks/host/images.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Config } from '../../src/config/schema.ts';
import { servedToWorker, workerCase } from '../layering/worker.ts';

const { repository, rendered, digest, image } = workerCase;

/** Whether a host is a worker whose cluster has an image for its pool, from this release on. */
export const takesImage = ({ role, cluster }: Config): boolean =>
  role === 'worker' && cluster.openshiftVersion === '4.21.0';

/** What the cluster serves it; where its images lie it tells only those who were not told before. */
export const servedTo = ({ layering }: Config): string =>
  servedToWorker(undefined, layering.repository === '' ? { repository } : {});

/** Puts the image of the workers where they look for it. */
export function giveWorkerImage({ images }: Machine): void {
  const held = { digest, labels: { 'ostree.bootable': 'true' } };
  publish(images, `${repository}:${rendered}`, held);
  publish(images, image, held);
}
