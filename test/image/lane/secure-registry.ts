import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensurePart } from '../../../scripts/parts/ensure.ts';
import { imageRegistry } from '../../../scripts/parts/scripted.ts';
import { passwordLine, pullSecretOf } from '../../../src/layering/registry/credentials.ts';
import {
  certificateArgv,
  registrySettings,
} from '../../../src/layering/registry/staging-registry.ts';
import { freePort } from '../../../mocks/kube/program.ts';

/** A real registry with TLS and a user of its own, created with the product's commands. */
export interface SecureRegistry extends AsyncDisposable {
  /** HOST:PORT */
  readonly address: string;
  /** PEM of the CA of its certificate. */
  readonly authority: string;
  /** Its credentials in the form of a pull secret. */
  readonly pullSecret: string;
  /** Variables with which podman, buildah and skopeo trust it and know its user. */
  readonly access: Readonly<Record<'SSL_CERT_FILE' | 'REGISTRY_AUTH_FILE', string>>;
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly log: () => string;
}

/** Starts the registry, with all files in a folder of the test. */
export async function startSecureRegistry(folder: string): Promise<SecureRegistry> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const [program = '', ...words] = certificateArgv(folder);
  execFileSync(program, words, { stdio: 'ignore' });
  const user = { name: 'tester', password: crypto.randomUUID() };
  const salt = crypto.getRandomValues(new Uint8Array(16));
  writeFileSync(join(folder, 'htpasswd'), passwordLine(user, salt));
  const settings = registrySettings(port, join(folder, 'data'), folder);
  writeFileSync(join(folder, 'settings.yml'), settings);
  const registry = await registryProgram(folder);
  await registry.start();
  const address = `127.0.0.1:${port}`;
  const pullSecret = pullSecretOf(address, user);
  const access = {
    SSL_CERT_FILE: join(folder, 'tls.crt'),
    REGISTRY_AUTH_FILE: join(folder, 'auth.json'),
  };
  writeFileSync(access.REGISTRY_AUTH_FILE, pullSecret);
  return {
    address,
    authority: readFileSync(access.SSL_CERT_FILE, 'utf8'),
    pullSecret,
    access,
    ...registry,
    [Symbol.asyncDispose]: registry.stop,
  };
}

/** The program of the registry, with the settings in a folder. */
export async function registryProgram(
  folder: string,
): Promise<Pick<SecureRegistry, 'start' | 'stop' | 'log'>> {
  const binary = join(await ensurePart(imageRegistry), 'bin', 'docker-registry');
  const logFile = join(folder, 'log.txt');
  let child: ChildProcess | undefined;
  const log = (): string => readFileSync(logFile, 'utf8');
  const start = async (): Promise<void> => {
    if (child !== undefined) return;
    const descriptor = openSync(logFile, 'w');
    // The kernel kills it when the test's process ends for any reason.
    child = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', binary, 'serve', join(folder, 'settings.yml')],
      { stdio: ['ignore', descriptor, descriptor] },
    );
    closeSync(descriptor);
    while (!log().includes('listening on')) {
      if (child.exitCode !== null) throw new Error(`the registry ended: ${log()}`);
      await pause(20);
    }
  };
  const stop = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running?.exitCode !== null) return;
    const gone = once(running, 'close');
    running.kill('SIGKILL');
    await gone;
  };
  return { start, stop, log };
}
