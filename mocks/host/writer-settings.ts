import { z } from 'zod';

/** How the image writer of a simulated host behaves. */
export const WriterSettings = z.strictObject({
  /** How long a write takes. */
  seconds: z.number().positive().default(6),
  /** Size of the image as it is read. */
  mebibytes: z.number().positive().default(1127),
  /** Time between two lines; the real tool prints one per second at most. */
  lineMillis: z.int().positive().default(250),
  /** Silence after 100 %, when the disk takes what the memory still holds. */
  flushSeconds: z.number().min(0).default(0.4),
  /** Writes that fail at this percentage, one after the other; later ones succeed. */
  failsAtPercent: z.array(z.number().min(0).max(100)).default([]),
});
export type WriterSettings = z.infer<typeof WriterSettings>;
