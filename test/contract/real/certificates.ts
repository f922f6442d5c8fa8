import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An authority and a server certificate for 127.0.0.1 that it signed, PEM. */
export interface Certificates {
  readonly ca: string;
  readonly caFile: string;
  readonly key: string;
  readonly cert: string;
}

/** Makes an authority and a certificate in a directory, with openssl. */
export function makeCertificates(directory: string): Certificates {
  const at = (name: string): string => join(directory, name);
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test CA');
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(at('san.cnf'), 'subjectAltName=IP:127.0.0.1,DNS:service.test\n');
  openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key'],
    ...['-CAcreateserial', '-extfile', 'san.cnf', '-out', 'cert.pem'],
  );
  return {
    caFile: at('ca.pem'),
    ca: readFileSync(at('ca.pem'), 'utf8'),
    key: readFileSync(at('key.pem'), 'utf8'),
    cert: readFileSync(at('cert.pem'), 'utf8'),
  };
}
