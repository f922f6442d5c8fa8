import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const ChosenImageSchema = z.discriminatedUnion('kind', [
  /** The offline image of the live medium: coreos-installer finds it itself. */
  z.object({ kind: z.literal('live'), because: z.string() }),
  /** The arguments for coreos-installer name the image; nothing is added to them. */
  z.object({ kind: z.literal('writer-args'), because: z.string() }),
  /** An image file, by its path on the host. */
  z.object({
    kind: z.literal('file'),
    path: z.string(),
    sha256: z.string().optional(),
    because: z.string(),
  }),
  /** An image at an http(s) URL. */
  z.object({
    kind: z.literal('url'),
    /** Without credentials and query; the complete address is in `source`. */
    url: z.string(),
    source: z.enum(['config', 'stream']),
    sha256: z.string().optional(),
    because: z.string(),
  }),
]);

/** The source of the operating system, and the reason for it. */
export const ChosenImage = fact('image.source', ChosenImageSchema);
export type ChosenImage = z.infer<typeof ChosenImageSchema>;

const WrittenImageSchema = z.object({
  /** Kernel path of the disk. */
  disk: z.string(),
  /** Digest of the image as it was read, if known. */
  sha256: z.string().optional(),
});

/** The operating system is on the disk, with this host's Ignition config. */
export const WrittenImage = fact('image.written', WrittenImageSchema);
export type WrittenImage = z.infer<typeof WrittenImageSchema>;
