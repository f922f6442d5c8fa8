// The same stand-in as nsenter.pl, for machines without Perl: slower to start, alike in all else.
// Usage: nsenter.ts SOCKET ARGUMENTS-OF-NSENTER…
import { connect } from 'node:net';
import { encodeFrame, encodeWords, type Frame, frameReader } from '../host/wire.ts';

const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
const names = Object.keys(signals) as readonly (keyof typeof signals)[];

const [socketPath = '', ...words] = process.argv.slice(2);
const server = connect(socketPath);
let isOver = false;

function send(letter: string, payload: string | Uint8Array): void {
  server.write(encodeFrame(letter, payload));
}

function leave(exitCode: number): void {
  isOver = true;
  process.exitCode = exitCode;
  process.stdin.destroy();
  server.destroy();
}

function take({ letter, payload }: Frame): void {
  if (letter === 'O') process.stdout.write(payload);
  if (letter === 'R') process.stderr.write(payload);
  if (letter === 'X') leave(Number(payload.toString()));
  if (letter === 'K') {
    const name = names.find((one) => signals[one] === Number(payload.toString())) ?? 'SIGTERM';
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  }
}

for (const name of names) {
  process.on(name, () => {
    send('S', String(signals[name]));
  });
}
send('A', encodeWords(words));
send(
  'V',
  encodeWords(Object.entries(process.env).map(([name, value]) => `${name}=${value ?? ''}`)),
);
process.stdin.on('data', (bytes: Buffer) => {
  send('I', bytes);
});
process.stdin.on('end', () => {
  send('E', '');
});

const read = frameReader();
server.on('data', (bytes) => {
  read(bytes).forEach(take);
});
server.on('error', (error) => {
  process.stderr.write(`nsenter: cannot reach the host: ${error.message}\n`);
  leave(1);
});
server.on('close', () => {
  if (isOver) return;
  process.stderr.write('nsenter: the host has gone\n');
  leave(1);
});
