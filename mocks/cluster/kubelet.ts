import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createPki } from '../kube/pki.ts';

/** What answers the API server in the name of every kubelet of a cluster. */
export interface Kubelet extends AsyncDisposable {
  readonly port: number;
}

/** Serves logs of containers on loopback; `logOf` gives the text of a pod. */
export async function startKubelet(logOf: (pod: string) => string): Promise<Kubelet> {
  const { serving } = await createPki();
  const server = createServer(
    { cert: serving.certificate, key: serving.key },
    ({ url = '' }, answer) => {
      const [, pod] = /^\/containerLogs\/[^/]+\/([^/]+)\//.exec(url) ?? [];
      answer.statusCode = pod === undefined ? 404 : 200;
      answer.end(pod === undefined ? '' : logOf(pod));
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
