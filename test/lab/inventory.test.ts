// The rules of the service that the lab applies to every agent, over HTTP.
import { afterEach, describe, expect, it } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';

const infraEnvId = 'b2f4d8f0-0000-4000-8000-000000000001';
const cluster = clusterSeed({ id: 'b2f4d8f0-0000-4000-8000-000000000002' });
const seed = { clusterId: cluster.id, infraEnvId, role: 'master' } as const;
const host = hostSeed({ ...seed, id: 'b2f4d8f0-0000-4000-8000-000000000003', hostname: 'm1' });
const issuer = tokenIssuer();
const token = issuer.issue({ infra_env_id: infraEnvId });
const v2 = '/api/assisted-install/v2';

let server: InventoryServer | undefined;
afterEach(() => server?.close());
const started = async (): Promise<InventoryServer> =>
  (server = await startInventory({ cluster, hosts: [host], auth: issuer.auth }));

const report = ({ url }: InventoryServer, body: object): Promise<Response> =>
  fetch(`${url}${v2}/infra-envs/${infraEnvId}/hosts/${host.id}/progress`, {
    method: 'PUT',
    body: `${JSON.stringify(body)}\n`,
    headers: { 'x-secret-key': token, 'content-type': 'application/json' },
  });

describe('the inventory service', () => {
  it.each([
    ['an unknown stage', { current_stage: 'Sleeping' }, { status: 400, code: 400 }],
    ['an unknown member', { current_stage: 'Installing', x: 1 }, { status: 400, code: 400 }],
    [
      'an earlier stage',
      { current_stage: 'Installing' },
      { status: 409, kind: 'Error', code: '409' },
    ],
    [
      'a long progress_info',
      { current_stage: 'Rebooting', progress_info: 'x'.repeat(2049) },
      { status: 500 },
    ],
  ])('refuses %s as the real one does', async (_, body, refusal) => {
    const service = await started();
    await report(service, { current_stage: 'Rebooting' });
    const answer = await report(service, body);
    const text = (await answer.json()) as object;
    expect({ ...text, status: answer.status }).toMatchObject(refusal);
  });

  it.each([
    ['an empty token', ''],
    ['a token of another issuer', tokenIssuer().issue({})],
  ])('refuses %s with 401', async (_, secret) => {
    const { url } = await started();
    const path = `${v2}/infra-env/${infraEnvId}/hosts/${host.id}/downloads/ignition`;
    const answer = await fetch(`${url}${path}`, { headers: { 'x-secret-key': secret } });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: 401 });
  });
});
