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

/** Whether operating systems are built during this installation, and for which pools. */
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
    /** Nothing is built: the MachineOSConfigs are submitted last, and the cluster builds. */
    z.object({ kind: z.literal('submit'), pools: z.array(PoolRequestSchema), why: z.string() }),
  ]),
);
export type BuildRequest = z.infer<typeof BuildRequest.schema>;

const ReleaseSchema = z.object({ kind: z.literal('release'), why: z.string() });

/** The OS image of the release is used, because nothing is asked for or something failed. */
export type Release = z.infer<typeof ReleaseSchema>;

/** A fact about each pool that images are built for, or why the release is used. */
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
  /** Its file on the host, which the machine-config-server reads for each request. */
  file: z.string(),
  /** The operating system of the release, by digest. */
  osImage: z.string(),
  /** Name of the OS stream that the pool asks for; left out where it asks for none. */
  stream: z.string().optional(),
});

/** A pool with its rendered MachineConfig, which its image is built from. */
export type RenderedPool = z.infer<typeof RenderedPoolSchema>;

/** The pools that images are built for, as they were rendered. */
export const RenderedPools = poolsFact('layering.renderedPools', RenderedPoolSchema);

const StagingRegistrySchema = z.object({
  kind: z.literal('running'),
  /** ADDRESS:PORT, as other hosts reach it. */
  address: z.string(),
  /** Folder with ca.crt, for clients. */
  certificates: z.string(),
  /** File with the credentials of its one user, in the form of a pull secret. */
  authFile: z.string(),
});

/** The registry that lives on the bootstrap host as long as that installs. */
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

/** A pool with the image that was built for it. */
export type BuiltPool = z.infer<typeof BuiltPoolSchema>;

/** The pools with what was built for them. */
export const BuiltPools = poolsFact('layering.builtPools', BuiltPoolSchema);

const PublishedPoolSchema = BuiltPoolSchema.extend({
  /** HOST/[NAMESPACE/]NAME@sha256:…: the one name of the image for good. */
  final: z.string(),
});

/** A pool whose image nodes can pull. */
export type PublishedPool = z.infer<typeof PublishedPoolSchema>;

/** The pools with their images under the names that nodes and cluster know them by. */
export const PublishedPools = poolsFact('layering.publishedPools', PublishedPoolSchema);
export type PublishedPools = z.infer<typeof PublishedPools.schema>;

const FoundImageSchema = z.object({
  /**
   * `served`: the machine-config-server names the image itself. `overlay`: it still names the
   * system of the release, and the image is laid over what it serves.
   */
  kind: z.enum(['served', 'overlay']),
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
});

/** An image of a pool that a worker has found. */
export type FoundImage = z.infer<typeof FoundImageSchema>;

/** The image that this worker is to boot into, or why it boots into the system of the release. */
export const WorkerImage = fact(
  'layering.worker-image',
  z.union([ReleaseSchema, FoundImageSchema]),
);
export type WorkerImage = z.infer<typeof WorkerImage.schema>;

/** How this worker gets to its image. */
export const WorkerBoot = fact(
  'layering.worker-boot',
  z.discriminatedUnion('kind', [
    ReleaseSchema,
    /** The disk boots the image. */
    z.object({ kind: z.literal('deployed') }),
    /** The disk boots the system of the release, which goes over to the image at its first boot. */
    z.object({ kind: z.literal('first-boot'), why: z.string() }),
  ]),
);
export type WorkerBoot = z.infer<typeof WorkerBoot.schema>;
