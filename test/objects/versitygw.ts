import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { partFolder } from '../../scripts/parts/part.ts';
import { s3Server } from '../../scripts/parts/s3-server.ts';
import { freePort } from '../../mocks/kube/program.ts';

/** A real S3 server over a folder of its own. */
export interface RealStore extends AsyncDisposable {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const credentials = { accessKeyId: 'bootwright', secretAccessKey: 'a-secret-of-the-test' } as const;

/** Starts versitygw on loopback with these objects, by `bucket/key`. */
export async function startStore(objects: Readonly<Record<string, string>>): Promise<RealStore> {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-s3-'));
  for (const [name, content] of Object.entries(objects)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  const port = await freePort();
  const binary = join(partFolder(s3Server), 'bin', 'versitygw');
  // Some file systems of test machines have no extended attributes; a sidecar keeps them.
  const sidecar = await mkdtemp(join(tmpdir(), 'bootwright-s3-meta-'));
  const child = spawn(
    binary,
    ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, folder],
    {
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: credentials.accessKeyId,
        ROOT_SECRET_KEY: credentials.secretAccessKey,
      },
      stdio: 'ignore',
    },
  );
  const url = `http://127.0.0.1:${port}`;
  await answers(url);
  return {
    url,
    ...credentials,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, 'close');
      await rm(folder, { recursive: true, force: true });
      await rm(sidecar, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      await fetch(url);
      return;
    } catch {
      await pause(100);
    }
  }
  throw new Error(`${url}: the S3 server did not start within 10 s`);
}
