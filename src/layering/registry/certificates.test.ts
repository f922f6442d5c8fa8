import { expect, it } from 'vitest';
import { authorityFiles, certificateCommands, validityAt } from './certificates.ts';

it('reaches an hour into the past, for clocks that are late', () => {
  expect(validityAt(Date.UTC(2026, 10, 21, 20, 0, 5))).toEqual({
    from: '20261121190005Z',
    until: '20261221200005Z',
  });
});

it('signs by a short-lived authority', () => {
  const commands = certificateCommands('/a', { from: '1Z', until: '2Z' });
  expect(commands.map(([program, action]) => [program, action])).toEqual([
    ['openssl', 'req'],
    ['openssl', 'ca'],
    ['openssl', 'req'],
    ['openssl', 'ca'],
  ]);
  for (const argv of [commands[1], commands[3]]) {
    expect(argv?.join(' ')).toContain('-startdate 1Z -enddate 2Z');
  }
  expect(commands[3]?.join(' ')).toContain('-extensions server -in /a/tls.csr -out /a/tls.crt');
});

it('is for every address of the host', () => {
  const names = { addresses: ['192.0.2.2', '::1'], names: ['localhost'] };
  const [settings] = authorityFiles('/a', names);
  expect(settings?.content).toContain('subjectAltName = IP:192.0.2.2,IP:::1,DNS:localhost\n');
});
