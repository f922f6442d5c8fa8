import type { Context } from 'hono';
import { domainError } from '../answers.ts';
import { ProgressV1, ProgressV2, readJson } from '../bodies.ts';
import type { InventoryStore } from '../store.ts';
import { hostAt } from './host-at.ts';
import type { AddRoutes } from './shape.ts';

/** Progress reports of hosts, version 2. */
export const addProgressRoutes: AddRoutes = (app, store) => {
  app.put('/v2/infra-envs/:infraEnv/hosts/:host/progress', (context) =>
    takeProgress(context, store, 'v2'),
  );
};

/** Takes a progress report for the host that the path names. */
export async function takeProgress(
  context: Context,
  store: InventoryStore,
  api: 'v1' | 'v2',
): Promise<Response> {
  const body = await readJson(context.req.raw, api === 'v1' ? ProgressV1 : ProgressV2);
  if ('refusal' in body) return body.refusal;
  const host = hostAt(store, context.req.param());
  if (host === undefined) {
    return domainError(404, `host ${context.req.param('host') ?? ''} not found`);
  }
  const report = { stage: body.value.current_stage as string, info: body.value.progress_info };
  const decision = store.report(host.id, report, api);
  if (decision?.kind === 'refused') return domainError(decision.status, decision.reason);
  return new Response(null, { status: 200 });
}
