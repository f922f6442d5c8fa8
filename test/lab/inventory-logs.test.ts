import { describe, expect, it } from 'vitest';
import { ask, cluster, host, labInventory, put, token, v2 } from './lab-inventory.ts';

const started = labInventory();

describe('the inventory service', () => {
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

  it('takes the logs of the controller, and keeps them', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/logs?logs_type=controller`;
    const form = new FormData();
    form.set('upfile', new Blob(['123'], { type: 'application/x-gzip' }), 'controller_logs.tar.gz');
    const headers = { 'x-secret-key': token };
    expect((await fetch(target, { method: 'POST', headers, body: form })).status).toBe(204);
    expect(store.controllerLogs()).toMatchObject([
      { filename: 'controller_logs.tar.gz', contentType: 'application/x-gzip' },
    ]);
    expect(store.controllerLogs()[0]?.bytes).toEqual(new TextEncoder().encode('123'));
    expect(store.cluster().logsState).toBe('collecting');
  });

  it.each([
    { name: 'without a file', query: 'logs_type=controller', field: 'other', status: 400 },
    { name: 'of an unknown kind', query: 'logs_type=all', field: 'upfile', status: 400 },
    { name: 'of no kind', query: '', field: 'upfile', status: 400 },
    { name: 'of a host that is not named', query: 'logs_type=host', field: 'upfile', status: 400 },
  ])('refuses logs $name', async ({ query, field, status }) => {
    const { url, store } = await started();
    const form = new FormData();
    form.set(field, new Blob(['123']), 'x.tar.gz');
    const target = `${url}${v2}/clusters/${cluster.id}/logs?${query}`;
    const headers = { 'x-secret-key': token };
    const answer = await fetch(target, { method: 'POST', headers, body: form });
    expect(answer.status).toBe(status);
    expect(store.controllerLogs()).toEqual([]);
  });

  it('keeps how far the logs of the cluster are', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}`;
    expect((await put(`${target}/logs-progress`, { logs_state: 'requested' })).status).toBe(204);
    expect((await put(`${target}/logs-progress`, { logs_state: 'lost' })).status).toBe(400);
    expect(store.cluster().logsState).toBe('requested');
    expect(await (await ask(target)).json()).toMatchObject({ logs_info: 'requested' });
  });
});
