import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { partFolder } from '../../scripts/parts/part.ts';
import { imageRegistry } from '../../scripts/parts/scripted.ts';
import { passwordLine } from '../../src/layering/registry/credentials.ts';
import { registrySettings } from '../../src/layering/registry/staging-registry.ts';
import { makeCertificates } from '../contract/real/http-server.ts';
import { openSerialLog } from '../guest/rig/serial-log.ts';

/** The registry of a bootstrap host: with TLS, and with one user. */
export interface ImageStage extends AsyncDisposable {
  /** HOST:PORT */
  readonly address: string;
  /** Pull secret of the user. */
  readonly auth: string;
  readonly ca: string;
  /** Pushes an image of an OCI layout, `FOLDER:TAG`, and returns its digest there. */
  readonly push: (layout: string, name: string) => string;
}

/** Starts the registry with the product's own settings. */
export async function startStage(folder: string): Promise<ImageStage> {
  const at = (...names: readonly string[]): string => join(folder, ...names);
  for (const path of [at(), at('served'), at('images'), at('clients')]) mkdirSync(path);
  const { caFile, ca, key, cert } = makeCertificates(at('served'));
  writeFileSync(at('served', 'tls.key'), key);
  writeFileSync(at('served', 'tls.crt'), cert);
  const user = { name: 'installer', password: 'tester' };
  writeFileSync(at('served', 'htpasswd'), passwordLine(user, Buffer.alloc(16, 7)));
  const settings = registrySettings(0, at('images'), at('served'));
  writeFileSync(at('settings.json'), settings);
  renameSync(caFile, at('clients', 'ca.crt'));
  const log = openSync(at('log.txt'), 'w');
  const program = join(partFolder(imageRegistry), 'bin', 'docker-registry');
  // The kernel ends it when the test's process ends, for any reason.
  const argv = ['--pdeathsig', 'KILL', '--', program, 'serve', at('settings.json')];
  const child = spawn('setpriv', argv, { stdio: ['ignore', log, log] });
  closeSync(log);
  const gone = once(child, 'close').then(() => 'too early');
  const line = await openSerialLog(at('log.txt'), gone).waitForLine(/listening on /, 600);
  const address = `127.0.0.1:${/listening on \S+:(\d+)/.exec(line)?.[1] ?? ''}`;
  const auth = authFor(address);
  writeFileSync(at('auth.json'), auth);
  return {
    address,
    auth,
    ca,
    push: (layout, name) => {
      const options = [
        ...['--quiet', '--dest-cert-dir', at('clients'), '--dest-authfile', at('auth.json')],
        ...['--digestfile', at('digest')],
      ];
      const target = `docker://${address}/${name}`;
      execFileSync('skopeo', ['copy', ...options, `oci:${layout}`, target], { stdio: 'pipe' });
      return readFileSync(at('digest'), 'utf8').trim();
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
    },
  };
}

/** A pull secret with the one user, for an address that leads to the registry. */
export const authFor = (address: string): string =>
  JSON.stringify({
    auths: { [address]: { auth: Buffer.from('installer:tester').toString('base64') } },
  });
