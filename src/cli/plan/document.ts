import * as z from 'zod';
import type { Plan } from '../../engine/describe.ts';
import { stages } from '../../model/stage.ts';

const PlannedStep = z.strictObject({
  id: z.string().describe('area/verb-noun, unique in a role'),
  title: z.string(),
  stage: z.enum(stages).optional().describe('what the inventory service sees from here on'),
  isActive: z.boolean().describe('false when the configuration leaves the step out'),
  onlyWhen: z.string().optional(),
  destroys: z.boolean().describe('data is lost on the machine'),
  preflight: z.boolean().describe('only looks; comes before everything that destroys'),
  leaves: z.boolean().describe('the host goes away'),
  rerun: z.enum(['safe', 'probe', 'never', 'always']),
  uses: z.array(z.string()).describe('ports that the step can reach'),
  needs: z.array(z.string()).describe('facts that earlier steps give'),
  gives: z.string().optional(),
  waitsFor: z.string().optional(),
  explanation: z.string().optional().describe('what was chosen for this configuration, and why'),
  limit: z.number().describe('milliseconds'),
  attempts: z.int(),
  commands: z.array(z.array(z.string())).describe('argv of the commands on the host'),
});

/** What `plan --format json` prints. A field is never removed within one version. */
export const PlanDocument = z.strictObject({
  v: z.literal(1).describe('version of this form'),
  role: z.string(),
  title: z.string(),
  items: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('step'), step: PlannedStep }),
      z.strictObject({
        kind: z.literal('lanes'),
        lanes: z.array(z.strictObject({ name: z.string(), steps: z.array(PlannedStep) })),
      }),
    ]),
  ),
  follow: z.array(PlannedStep).describe('run in the background'),
  always: z.array(PlannedStep).describe('run at the end, after a failure too'),
});
export type PlanDocument = z.infer<typeof PlanDocument>;

/** A plan for programs. */
export const renderPlanJson = (plan: Plan): string =>
  `${JSON.stringify({ v: 1, ...plan }, null, 2)}\n`;

/** JSON Schema (draft 2020-12) of that form. */
export const planJsonSchema = (): Readonly<Record<string, unknown>> => ({
  title: 'Plan of a Bootwright role',
  ...z.toJSONSchema(PlanDocument),
});
