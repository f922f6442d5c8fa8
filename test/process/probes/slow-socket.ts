// Writes events to standard output, a socket, until it is full; then ends the stream, for which it
// has longer than usual.
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { openEventStream } from '../../../src/adapters/logging/log-sink.ts';
import { lengthen } from './patient.ts';

const write = Reflect.get(Socket.prototype, 'write') as (...args: unknown[]) => boolean;
let held = (): number => 0;
Socket.prototype.write = function (this: Socket, ...args: unknown[]) {
  held = () => this.writableLength;
  return Reflect.apply(write, this, args);
};
const { sink, close } = openEventStream('fd:1', (text) => text);
const message = 'x'.repeat(4000);
for (let at = 0; held() === 0; at += 1) {
  sink({ type: 'note', step: 'a/b', level: 'info', message, fields: {}, at, run: 'r' });
  await turn();
}
lengthen(1000);
process.stderr.write('full\n');
await close();
process.stderr.write('closed\n');
