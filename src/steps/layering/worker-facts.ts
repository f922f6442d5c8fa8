import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const stock = z.object({ kind: z.literal('stock'), why: z.string() });

const found = {
  /** `rendered-POOL-HASH`. */
  rendered: z.string(),
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  image: z.string(),
  /** File with what the machine-config-server served; with secrets, mode 0600. */
  served: z.string(),
  /** File with the pull secret of the cluster, mode 0600. */
  authFile: z.string(),
  /** Folder with certificates that the cluster trusts; none where it names none. */
  certificates: z.string().optional(),
};

const FoundImageSchema = z.discriminatedUnion('kind', [
  /** The machine-config-server names the image itself. */
  z.object({ kind: z.literal('served'), ...found }),
  /** It still names the system of the release: the image is laid over what it serves. */
  z.object({ kind: z.literal('overlay'), ...found }),
]);

/** An image of a pool that a worker has found. */
export type FoundImage = z.infer<typeof FoundImageSchema>;

/** The image that this worker is to boot into, or why it boots into the system of the release. */
export const WorkerImage = fact('layering.worker-image', z.union([stock, FoundImageSchema]));
export type WorkerImage = z.infer<typeof WorkerImage.schema>;

const WorkerBootSchema = z.discriminatedUnion('kind', [
  stock,
  /** The disk boots the image. */
  z.object({ kind: z.literal('deployed') }),
  /** The disk boots the system of the release, which goes over to the image at its first boot. */
  z.object({ kind: z.literal('first-boot'), why: z.string() }),
]);

/** How this worker gets to its image. */
export const WorkerBoot = fact('layering.worker-boot', WorkerBootSchema);
export type WorkerBoot = z.infer<typeof WorkerBootSchema>;
