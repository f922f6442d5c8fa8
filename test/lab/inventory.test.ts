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
    ['an unknown stage', { current_stage: 'Sleeping' }],
    ['an unknown property', { current_stage: 'Installing', x: 1 }],
  ])('refuses %s with 400 and a numeric code', async (_, body) => {
    const answer = await report(await started(), body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 400 });
  });

  it('answers 500 to a text of more than 2048 characters', async () => {
    const body = { current_stage: 'Installing', progress_info: 'x'.repeat(2049) };
    expect((await report(await started(), body)).status).toBe(500);
  });

  it('refuses a lower stage with 409 and a string code', async () => {
    const service = await started();
    await report(service, { current_stage: 'Rebooting' });
    const answer = await report(service, { current_stage: 'Installing' });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ kind: 'Error', code: '409' });
  });

  it.each([
    { name: 'no token', secret: '', status: 401 },
    { name: 'a token of another service', secret: tokenIssuer().issue({}), status: 401 },
  ])('refuses $name with 401', async ({ secret, status }) => {
    const { url } = await started();
    const path = `${v2}/infra-env/${infraEnvId}/hosts/${host.id}/downloads/ignition`;
    const answer = await fetch(`${url}${path}`, { headers: { 'x-secret-key': secret } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code: status });
  });
});
