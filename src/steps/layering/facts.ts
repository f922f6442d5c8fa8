import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { isFields, type Fields } from '../../lib/fields.ts';

const PoolRequestSchema = z.object({
  /** Name of the MachineConfigPool, and therefore of its MachineOSConfig. */
  pool: z.string(),
  /** The MachineOSConfig as in its manifest. */
  object: z.custom<Fields>((value) => isFields(value)),
  /** The same, parsed as the API server would store it. */
  config: z.custom<MachineOSConfig>((value) => isFields(value)),
  /** A file with the Secret for the push of the image, and no other object. */
  pushSecret: z.string(),
  /** A file with the Secret for the pull of the base; without it the pull secret of the cluster. */
  baseSecret: z.string().optional(),
  /** HOST/[NAMESPACE/]NAME: the final repository of the image. */
  repository: z.string(),
});

/** A pool whose machines run a built image. */
export type PoolRequest = z.infer<typeof PoolRequestSchema>;

/** Whether OS images are built during this installation, and for which pools. */
export const BuildRequest = fact(
  'layering.buildRequest',
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('off'), why: z.string() }),
    z.object({
      kind: z.literal('on'),
      /** The pool of masters comes first. */
      pools: z.array(PoolRequestSchema),
      why: z.string(),
    }),
    /** No image is built: the MachineOSConfigs are submitted last, and the cluster builds. */
    z.object({ kind: z.literal('submit'), pools: z.array(PoolRequestSchema), why: z.string() }),
  ]),
);
export type BuildRequest = z.infer<typeof BuildRequest.schema>;

const ReleaseSchema = z.object({ kind: z.literal('release'), why: z.string() });

/** The OS image of the release is used, because no image is requested or something failed. */
export type Release = z.infer<typeof ReleaseSchema>;

/** A fact about each pool with an image, or the reason why the release is used. */
const poolsFact = <Pool extends z.ZodType>(name: string, pool: Pool) =>
  fact(
    name,
    z.discriminatedUnion('kind', [
      ReleaseSchema,
      z.object({ kind: z.literal('pools'), pools: z.array(pool) }),
    ]),
  );

const RenderedPoolSchema = PoolRequestSchema.extend({
  /** `rendered-POOL-HASH`. */
  rendered: z.string(),
  /** Its file on the host, which the machine-config-server reads at each request. */
  file: z.string(),
  /** The operating system of the release, by digest. */
  osImage: z.string(),
  /** Name of the OS stream that the pool asks for; undefined if it asks for none. */
  stream: z.string().optional(),
});

/** A pool with its rendered MachineConfig, from which its image is built. */
export type RenderedPool = z.infer<typeof RenderedPoolSchema>;

/** The pools with an image, as rendered. */
export const RenderedPools = poolsFact('layering.renderedPools', RenderedPoolSchema);

const StagingRegistrySchema = z.object({
  kind: z.literal('running'),
  /** ADDRESS:PORT, as other hosts reach it. */
  address: z.string(),
  /** Folder with ca.crt, for clients. */
  certificates: z.string(),
  /** File with the credentials of its only user, in the format of a pull secret. */
  authFile: z.string(),
});

/** The registry on the bootstrap host, which exists during its installation. */
export const StagingRegistry = fact(
  'layering.registry',
  z.discriminatedUnion('kind', [ReleaseSchema, StagingRegistrySchema]),
);
export type StagingRegistry = z.infer<typeof StagingRegistrySchema>;

const BuiltPoolSchema = RenderedPoolSchema.extend({
  /** Its image in the staging registry, by digest. */
  staged: z.string(),
  /** `sha256:…` */
  digest: z.string(),
});

/** A pool with its built image. */
export type BuiltPool = z.infer<typeof BuiltPoolSchema>;

/** The pools with their built images. */
export const BuiltPools = poolsFact('layering.builtPools', BuiltPoolSchema);

const PublishedPoolSchema = BuiltPoolSchema.extend({
  /** HOST/[NAMESPACE/]NAME@sha256:…: the final name of the image. */
  final: z.string(),
});

/** A pool with an image that nodes can pull. */
export type PublishedPool = z.infer<typeof PublishedPoolSchema>;

/** The pools with their images under the names that nodes and cluster use. */
export const PublishedPools = poolsFact('layering.publishedPools', PublishedPoolSchema);
export type PublishedPools = z.infer<typeof PublishedPools.schema>;

const FoundImageSchema = z.object({
  /**
   * `served`: the machine-config-server names the image itself. `overlay`: it still names the
   * system of the release, and the image is overlaid on the served config.
   */
  kind: z.enum(['served', 'overlay']),
  /** `rendered-POOL-HASH`. */
  rendered: z.string(),
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  image: z.string(),
  /** File with the config that the machine-config-server served; with secrets, mode 0600. */
  served: z.string(),
  /** File with the pull secret of the cluster, mode 0600. */
  authFile: z.string(),
  /** Folder with certificates that the cluster trusts; undefined if it names none. */
  certificates: z.string().optional(),
});

/** An image of a pool that a worker has found. */
export type FoundImage = z.infer<typeof FoundImageSchema>;

/** The image that this worker boots, or the reason why it boots the system of the release. */
export const WorkerImage = fact(
  'layering.worker-image',
  z.union([ReleaseSchema, FoundImageSchema]),
);
export type WorkerImage = z.infer<typeof WorkerImage.schema>;

/** The way in which this worker boots its image. */
export const WorkerBoot = fact(
  'layering.worker-boot',
  z.discriminatedUnion('kind', [
    ReleaseSchema,
    /** The disk boots the image. */
    z.object({ kind: z.literal('deployed') }),
    /** The disk boots the system of the release, which switches to the image at its first boot. */
    z.object({ kind: z.literal('first-boot'), why: z.string() }),
  ]),
);
export type WorkerBoot = z.infer<typeof WorkerBoot.schema>;
