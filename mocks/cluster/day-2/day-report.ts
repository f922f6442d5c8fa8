import { z } from 'zod';

/** How the day after an installation went, but for what went wrong. */
export const DayReport = z
  .strictObject({
    seconds: z.number(),
    layerStatus: z
      .string()
      .describe('what `bootwright layer status` said while a node could not be drained'),
    nodes: z.array(
      z.strictObject({
        name: z.string(),
        image: z.string().describe('what it runs in the end, by digest'),
        restarts: z.int().describe('how often its host went down'),
        awaySeconds: z
          .number()
          .describe('how long it was cordoned, not Ready, or not what it was to be'),
      }),
    ),
  })
  .describe('the day after, where a scenario has one');
export type DayReport = z.infer<typeof DayReport>;
