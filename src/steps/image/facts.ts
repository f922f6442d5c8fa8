import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const ChosenImageSchema = z.discriminatedUnion('kind', [
  /** The live medium's own image: coreos-installer finds it by itself (offline image). */
  z.object({ kind: z.literal('live'), because: z.string() }),
  /** The arguments for coreos-installer name the image; nothing is added to them. */
  z.object({ kind: z.literal('writer-args'), because: z.string() }),
  /** An image file seen from the host. */
  z.object({
    kind: z.literal('file'),
    path: z.string(),
    sha256: z.string().optional(),
    because: z.string(),
  }),
  /** An image at an http(s) URL. */
  z.object({
    kind: z.literal('url'),
    /** Without credentials and query; whoever reads the image takes the whole one from `source`. */
    url: z.string(),
    source: z.enum(['config', 'stream']),
    sha256: z.string().optional(),
    because: z.string(),
  }),
]);

/** Where the operating system comes from, and why. */
export const ChosenImage = fact('image.source', ChosenImageSchema);
export type ChosenImage = z.infer<typeof ChosenImageSchema>;

const WrittenImageSchema = z.object({
  /** Kernel path of the disk. */
  disk: z.string(),
  /** Of the image as it was read, where it could be known. */
  sha256: z.string().optional(),
});

/** The operating system is on the disk, with this host's Ignition. */
export const WrittenImage = fact('image.written', WrittenImageSchema);
export type WrittenImage = z.infer<typeof WrittenImageSchema>;
