import { afterEach, describe, expect, it } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/seed.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { Fault } from '../../mocks/http/fault.ts';

const infraEnvId = 'b2f4d8f0-0000-4000-8000-000000000001';
const cluster = clusterSeed({ id: 'b2f4d8f0-0000-4000-8000-000000000002' });
const host = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000003',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'm1',
  role: 'master',
});
const issuer = tokenIssuer();
const token = issuer.issue({ infra_env_id: infraEnvId });

const v2 = '/api/assisted-install/v2';
const progressPath = `${v2}/infra-envs/${infraEnvId}/hosts/${host.id}/progress`;
const ignitionPath = `${v2}/infra-env/${infraEnvId}/hosts/${host.id}/downloads/ignition`;

let server: InventoryServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function started(faults: readonly object[] = []): Promise<InventoryServer> {
  server = await startInventory({
    cluster,
    hosts: [host],
    auth: issuer.auth,
    faults: faults.map((fault) => Fault.parse(fault)),
  });
  return server;
}

interface Asked extends RequestInit {
  readonly headers?: Record<string, string>;
}

const ask = (url: string, init: Asked = {}): Promise<Response> =>
  fetch(url, {
    ...init,
    headers: { 'x-secret-key': token, 'content-type': 'application/json', ...init.headers },
  });
const put = (url: string, body: object): Promise<Response> =>
  ask(url, { method: 'PUT', body: `${JSON.stringify(body)}\n` });

describe('the inventory service', () => {
  it('takes a report and shows it', async () => {
    const { url, store } = await started();
    const answer = await put(`${url}${progressPath}`, {
      current_stage: 'Installing',
      progress_info: 'master',
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('');
    expect(store.host(host.id)).toMatchObject({ stage: 'Installing', stageInfo: 'master' });
  });

  it('records what was asked, and what was answered', async () => {
    const { url, requests } = await started();
    await put(`${url}${progressPath}`, { current_stage: 'Joined' });
    expect(requests).toMatchObject([
      {
        method: 'PUT',
        path: progressPath,
        body: '{"current_stage":"Joined"}\n',
        headers: { 'x-secret-key': token },
        status: 200,
      },
    ]);
  });

  it.each([
    { name: 'a stage that there is not', body: { current_stage: 'Sleeping' } },
    { name: 'a property that there is not', body: { current_stage: 'Installing', x: 1 } },
  ])('refuses $name with 400 and a number for a code', async ({ body }) => {
    const { url } = await started();
    const answer = await put(`${url}${progressPath}`, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 400 });
  });

  it('refuses a lower stage with 409 and a word for a code', async () => {
    const { url } = await started();
    await put(`${url}${progressPath}`, { current_stage: 'Rebooting' });
    const answer = await put(`${url}${progressPath}`, { current_stage: 'Installing' });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ kind: 'Error', code: '409' });
  });

  it('answers 500 to a text of more than 2048 characters', async () => {
    const { url } = await started();
    const body = { current_stage: 'Installing', progress_info: 'x'.repeat(2049) };
    expect((await put(`${url}${progressPath}`, body)).status).toBe(500);
  });

  it.each([
    { name: 'no token', secret: '', status: 401 },
    { name: 'a token of another service', secret: tokenIssuer().issue({}), status: 401 },
  ])('lets nobody in with $name', async ({ secret, status }) => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath}`, { headers: { 'x-secret-key': secret } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code: status });
  });

  it('gives the Ignition of a host at the singular path only', async () => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath}`);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toContain(`master-${host.id}.ign`);
    expect(await answer.json()).toMatchObject({ ignition: { version: '3.2.0' } });
    const plural = await ask(`${url}${ignitionPath.replace('infra-env/', 'infra-envs/')}`);
    expect(plural.status).toBe(404);
  });

  it('calls the errors of downloads an octet stream', async () => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath.replace('0003', '0009')}`);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(await answer.json()).toMatchObject({ code: '404', kind: 'Error' });
  });

  it('lists hosts by role, and the cluster with or without them', async () => {
    const { url } = await started();
    const clusterUrl = `${url}${v2}/clusters/${cluster.id}`;
    expect(await (await ask(`${clusterUrl}/hosts?role=master`)).json()).toHaveLength(1);
    expect(await (await ask(`${clusterUrl}/hosts?role=arbiter`)).json()).toEqual([]);
    expect((await ask(`${clusterUrl}/hosts?role=king`)).status).toBe(400);
    expect(await (await ask(`${clusterUrl}?exclude-hosts=true`)).json()).toMatchObject({
      kind: 'Cluster',
      hosts: null,
    });
  });

  it('takes logs as a file, and nothing else', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/logs?logs_type=host&host_id=${host.id}`;
    const form = new FormData();
    form.set('upfile', new Blob(['12345']), 'logs.tar.gz');
    const headers = { 'x-secret-key': token };
    expect((await fetch(target, { method: 'POST', headers, body: form })).status).toBe(204);
    expect(store.host(host.id)).toMatchObject({ logBytes: 5, logsState: 'collecting' });
    expect((await ask(target, { method: 'POST', body: '{}' })).status).toBe(400);
  });

  it.each(['/api/assisted-install/v1', '/api/bm-inventory/v1'])('speaks %s', async (base) => {
    const { url, store } = await started();
    const files = `${url}${base}/clusters/${cluster.id}/downloads/files`;
    expect(await (await ask(`${files}?file_name=worker.ign`)).json()).toHaveProperty('ignition');
    expect((await ask(`${files}?file_name=secret.ign`)).status).toBe(400);
    const report = { current_stage: 'Start Waiting for control plane' };
    await put(`${url}${base}/clusters/${cluster.id}/hosts/${host.id}/progress`, report);
    expect(store.host(host.id)).toMatchObject({ stage: 'Start Waiting for control plane' });
  });

  it('answers what it does not know with 404', async () => {
    const { url } = await started();
    expect((await ask(`${url}/api/assisted-install/v3/nothing`)).status).toBe(404);
  });
});

describe('the faults of a server', () => {
  it('answer with an error for a number of times', async () => {
    const { url } = await started([{ kind: 'status', status: 503, times: 1 }]);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(503);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(200);
  });

  it('cut the connection inside a body', async () => {
    const { url } = await started([{ kind: 'cut', on: 'ignition', atPercent: 40, times: 1 }]);
    const answer = await ask(`${url}${ignitionPath}`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect((await ask(`${url}${ignitionPath}`)).ok).toBe(true);
  });

  it('refuse connections for a time', async () => {
    const { url, requests } = await started([{ kind: 'refuse', forSeconds: 0.5, times: 1 }]);
    await expect(ask(`${url}${ignitionPath}`)).rejects.toThrow();
    await expect(ask(`${url}${ignitionPath}`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
    await expect
      .poll(
        () =>
          ask(`${url}${ignitionPath}`).then(
            (a) => a.status,
            () => 0,
          ),
        {
          timeout: 5000,
        },
      )
      .toBe(200);
    expect(requests[0]).not.toHaveProperty('status');
  });

  it('never answer', async () => {
    const { url } = await started([{ kind: 'hang' }]);
    const signal = AbortSignal.timeout(300);
    await expect(ask(`${url}${ignitionPath}`, { signal })).rejects.toThrow();
  });

  it('hold an answer back', async () => {
    const { url } = await started([{ kind: 'slow', delaySeconds: 0.3 }]);
    const since = performance.now();
    await ask(`${url}${ignitionPath}`);
    expect(performance.now() - since).toBeGreaterThan(290);
  });
});
