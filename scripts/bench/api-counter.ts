import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';

/** Counts the requests that pass to an API server. */
export interface ApiCounter extends AsyncDisposable {
  /** As the one it was made from, by way of the counter. */
  readonly kubeconfig: string;
  readonly requests: () => number;
}

/** Puts a counter before the API server of a kubeconfig; it speaks plain HTTP to whoever asks. */
export async function countRequests(kubeconfig: string): Promise<ApiCounter> {
  const access = readKubeconfig(kubeconfig);
  const agent = new Agent({
    keepAlive: true,
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    ...(access.certificate === undefined ? {} : { cert: access.certificate }),
    ...(access.key === undefined ? {} : { key: access.key.reveal() }),
  });
  let requests = 0;
  const server = createServer((asked, answer) => {
    requests += 1;
    pass(new URL(asked.url ?? '/', access.server), agent, { asked, answer });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    kubeconfig: kubeconfig.replace(access.server, `http://127.0.0.1:${port}`),
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
}

interface Exchange {
  readonly asked: IncomingMessage;
  readonly answer: ServerResponse;
}

/** What breaks off on one side breaks off on the other. */
function pass(url: URL, agent: Agent, { asked, answer }: Exchange): void {
  const { method, headers } = asked;
  const further = request(url, { agent, method, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    answer.flushHeaders();
    pipeline(response, answer, () => undefined);
  });
  further.on('error', () => answer.destroy());
  answer.on('close', () => further.destroy());
  asked.pipe(further);
}
