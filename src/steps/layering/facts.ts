import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { isFields, type Fields } from '../../lib/fields.ts';

const PoolRequestSchema = z.object({
  /** Name of the MachineConfigPool, and so of its MachineOSConfig. */
  pool: z.string(),
  /** The MachineOSConfig as its manifest holds it. */
  object: z.custom<Fields>((value) => isFields(value)),
  /** The same as the API server would keep it. */
  config: z.custom<MachineOSConfig>((value) => isFields(value)),
  /** A file with the Secret that may push the image, and no other object. */
  pushSecret: z.string(),
  /** The same for the Secret that may pull the base; the pull secret of the cluster without it. */
  baseSecret: z.string().optional(),
  /** HOST/[NAMESPACE/]NAME: where the image is to be found for good. */
  repository: z.string(),
});

/** A pool whose machines are to run a built image. */
export type PoolRequest = z.infer<typeof PoolRequestSchema>;

const BuildRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('off'), why: z.string() }),
  z.object({
    kind: z.literal('on'),
    /** The pool of masters comes first. */
    pools: z.array(PoolRequestSchema),
    why: z.string(),
  }),
  /** Nothing is built: the MachineOSConfigs are submitted last, and the cluster builds. */
  z.object({ kind: z.literal('submit'), pools: z.array(PoolRequestSchema), why: z.string() }),
]);

/** Whether operating systems are built during this installation, and for which pools. */
export const BuildRequest = fact('layering.buildRequest', BuildRequestSchema);
export type BuildRequest = z.infer<typeof BuildRequestSchema>;

const RenderedConfigSchema = z.object({
  pool: z.string(),
  /** `rendered-POOL-HASH`. */
  name: z.string(),
  /** Its file on the host, which the machine-config-server reads for each request. */
  file: z.string(),
  /** The operating system of the release, by digest. */
  osImage: z.string(),
  /** Name of the OS stream that the pool asks for; left out where it asks for none. */
  stream: z.string().optional(),
});

/** The rendered MachineConfig of each pool that an image is built for; none where none is. */
export const RenderedConfigs = fact('layering.rendered', z.array(RenderedConfigSchema));
export type RenderedConfig = z.infer<typeof RenderedConfigSchema>;

/**
 * The operating system of the release is used, because nothing is asked for or something failed.
 */
const releaseImage = z.object({
  // `stock` is how a journal of version 0.1 names it.
  kind: z.enum(['release', 'stock']).transform((): 'release' => 'release'),
  why: z.string(),
});

const StagingRegistrySchema = z.object({
  kind: z.literal('running'),
  /** ADDRESS:PORT, as other hosts reach it. */
  address: z.string(),
  /** Folder of its data on the host. */
  data: z.string(),
  /** Folder with ca.crt, for clients. */
  certificates: z.string(),
  /** File with the credentials of its one user, in the form of a pull secret. */
  authFile: z.string(),
});

/** The registry that lives on the bootstrap host as long as that installs. */
export const StagingRegistry = fact(
  'layering.registry',
  z.discriminatedUnion('kind', [releaseImage, StagingRegistrySchema]),
);
export type StagingRegistry = z.infer<typeof StagingRegistrySchema>;

const BuiltImageSchema = z.object({
  pool: z.string(),
  renderedConfig: z.string(),
  /** In the staging registry, by digest. */
  staged: z.string(),
  /** `sha256:…` */
  digest: z.string(),
});

/** What was built, or why the operating system of the release is used instead. */
export const BuiltImages = fact(
  'layering.built',
  z.discriminatedUnion('kind', [
    releaseImage,
    z.object({ kind: z.literal('built'), images: z.array(BuiltImageSchema) }),
  ]),
);
export type BuiltImage = z.infer<typeof BuiltImageSchema>;

const PublishedImageSchema = BuiltImageSchema.extend({
  /** HOST/[NAMESPACE/]NAME@sha256:…: the one name of the image for good. */
  final: z.string(),
});

const PublishedImagesSchema = z.discriminatedUnion('kind', [
  releaseImage,
  z.object({ kind: z.literal('published'), images: z.array(PublishedImageSchema) }),
]);

/** The images under the names that nodes and cluster know them by. */
export const PublishedImages = fact('layering.published', PublishedImagesSchema);
export type PublishedImages = z.infer<typeof PublishedImagesSchema>;
export type PublishedImage = z.infer<typeof PublishedImageSchema>;

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
export const WorkerImage = fact('layering.worker-image', z.union([releaseImage, FoundImageSchema]));
export type WorkerImage = z.infer<typeof WorkerImage.schema>;

const WorkerBootSchema = z.discriminatedUnion('kind', [
  releaseImage,
  /** The disk boots the image. */
  z.object({ kind: z.literal('deployed') }),
  /** The disk boots the system of the release, which goes over to the image at its first boot. */
  z.object({ kind: z.literal('first-boot'), why: z.string() }),
]);

/** How this worker gets to its image. */
export const WorkerBoot = fact('layering.worker-boot', WorkerBootSchema);
export type WorkerBoot = z.infer<typeof WorkerBootSchema>;
