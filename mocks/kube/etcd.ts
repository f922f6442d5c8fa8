import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { controlProgram, type ServerControl } from './program.ts';
import { etcdFlags } from './server-flags.ts';

/** The store behind the API servers. */
export interface Etcd extends ServerControl {
  readonly port: number;
  /**
   * Forgets all history but the last state, and waits until it is gone from the disk too. An API server that
   * runs still has it in memory: only one that is restarted answers an old watch with 410.
   */
  readonly compact: () => Promise<void>;
}

/** An etcd over the data in `FOLDER/etcd`; not started yet. */
export async function createEtcd(binaries: string, folder: string): Promise<Etcd> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const control = controlProgram({
    name: 'etcd',
    program: join(binaries, 'etcd'),
    args: etcdFlags({ data: join(folder, 'etcd'), port, peerPort }),
    logFile: join(folder, 'etcd.log'),
    isReady: async () => (await fetch(`${url}/health`)).ok,
  });
  return { ...control, port, compact: () => compact(url) };
}

/** @see https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/ */
async function compact(url: string): Promise<void> {
  const { header } = (await post(`${url}/v3/maintenance/status`, {})) as {
    readonly header: { readonly revision: string };
  };
  await post(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}
