// The only way out of a network namespace: runs in it, listens at addresses and hands each
// connection on to a Unix socket. Usage: network-door.ts ADDRESS:PORT=SOCKET…
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

const join = (one: Socket, other: Socket): void => {
  one.on('error', () => other.destroy());
  one.on('close', () => other.destroy());
  one.pipe(other);
};

for (const word of process.argv.slice(2)) {
  const [, host = '', port = '', path = ''] = /^(.+):(\d+)=(.+)$/.exec(word) ?? [];
  const server = createServer((client) => {
    const way = connect(path);
    join(client, way);
    join(way, client);
  });
  server.listen(Number(port), host);
  await once(server, 'listening');
}
process.stdout.write('open\n');
