import { z } from 'zod';
import { type AddRoutes, domainError, readJson, shownOperator, unknownCluster } from './answers.ts';
import {
  decideCompletion,
  decideIngressCa,
  decideOperator,
  decideStage,
  type EndDecision,
  finalizingStages,
} from './finalizing.ts';
import type { InventoryStore } from './store.ts';

const Stage = z.strictObject({ finalizing_stage: z.enum(finalizingStages) });

const Operator = z.strictObject({
  name: z.string(),
  version: z.string().optional(),
  status: z.enum(['failed', 'progressing', 'available']),
  status_info: z.string().default(''),
});

const Completion = z.strictObject({
  is_success: z.boolean(),
  error_info: z.string().default(''),
  data: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Routes for the end of an installation, version 2: stages of finalizing, operators, the ingress,
 * completion.
 */
export const addFinalizingRoutes: AddRoutes = (app, store) => {
  /** Reads a body for the cluster of the path, and answers by the rules. */
  const takes =
    <T>(schema: z.ZodType<T>, status: number, decide: (body: T) => EndDecision) =>
    async ({ req }: { readonly req: { readonly raw: Request; param(): object } }) => {
      const body = await readJson(req.raw, schema);
      if ('refusal' in body) return body.refusal;
      const { cluster = '' } = req.param() as { readonly cluster?: string };
      if (cluster !== store.cluster().id) return unknownCluster(cluster);
      return answerOf(store, decide(body.value), status);
    };
  app.put(
    '/v2/clusters/:cluster/progress',
    takes(Stage, 200, (body) => decideStage(store.cluster(), body.finalizing_stage, store.now())),
  );
  app.put(
    '/v2/clusters/:cluster/monitored-operators',
    takes(Operator, 200, ({ status_info: statusInfo, version, ...report }) => {
      const versioned = version === undefined ? {} : { version };
      return decideOperator(store.cluster(), { ...report, ...versioned, statusInfo });
    }),
  );
  app.post(
    '/v2/clusters/:cluster/uploads/ingress-cert',
    takes(z.string(), 201, (pem) => decideIngressCa(store.cluster(), pem)),
  );
  app.post(
    '/v2/clusters/:cluster/actions/complete-installation',
    takes(Completion, 202, ({ is_success: isSuccess, error_info: error, data }) => {
      store.addCompletion({ isSuccess, error, data });
      return decideCompletion(store.cluster(), { isSuccess, error });
    }),
  );
  app.get('/v2/clusters/:cluster/monitored-operators', ({ req }) => {
    const { id, operators } = store.cluster();
    if (req.param('cluster') !== id) return unknownCluster(req.param('cluster'));
    const name = req.query('operator_name') ?? '';
    const listed = operators.filter((one) => name === '' || one.name === name);
    if (name !== '' && listed.length === 0) return domainError(404, 'record not found');
    return Response.json(listed.map(shownOperator));
  });
};

function answerOf(store: InventoryStore, decision: EndDecision, status: number): Response {
  if (decision.kind === 'refused') return domainError(decision.status, decision.reason);
  store.setCluster(decision.cluster);
  return status === 202 ? Response.json({}, { status }) : new Response(null, { status });
}
